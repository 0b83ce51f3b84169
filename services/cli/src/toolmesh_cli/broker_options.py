"""Options of `toolmesh up` that say which broker it uses, and what that broker's writes survive."""

from pathlib import Path
from typing import Annotated

import typer

from toolmesh_cli.completion import one_of

__all__ = ["BrokerCredentials", "BrokerNkey", "BrokerUrl", "Durability", "Replicas"]

BrokerUrl = Annotated[
    str | None,
    typer.Option(help="Use this NATS server, or these of a cluster, instead of an own one.", metavar="URL[,URL]"),
]
BrokerCredentials = Annotated[Path | None, typer.Option(help="The server's .creds file for us.", metavar="FILE")]
BrokerNkey = Annotated[Path | None, typer.Option(help="Our nkey seed file.", metavar="FILE")]
Durability = Annotated[
    str | None,
    typer.Option(
        help="fast: queued calls survive the death of any process; durable: a power cut too, but slower.",
        metavar="fast|durable",
        autocompletion=one_of("fast", "durable"),
    ),
]
Replicas = Annotated[
    int | None,
    typer.Option(help="With --broker: keep new streams on so many servers of a cluster.", metavar="1|3|5"),
]
