"""Options that several commands share, and how the command line gives them."""

from pathlib import Path
from typing import Annotated

import typer

from toolmesh_cli import exit_codes

__all__ = [
    "EXIT_CODES_HELP",
    "LONGEST_TIMEOUT_S",
    "AgentFiles",
    "AllowUnsandboxed",
    "Arguments",
    "ArgumentsFile",
    "ArtifactFiles",
    "AsAgent",
    "AsJson",
    "CallTimeout",
    "CallingUser",
    "DataFolder",
    "SaveArtifacts",
    "Scopes",
    "TaskId",
    "Workers",
    "help_if_bare",
]

LONGEST_TIMEOUT_S = 366 * 86_400.0
"""Nothing waits longer; infinity is no time."""
EXIT_CODES_HELP = """\b
Exit codes: 0 ok, 1 the tool failed, 2 usage or configuration, 3 unreachable,
4 denied, 5 timed out, 6 a person is needed, 130 interrupted."""
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        help="Where the mesh keeps its keys, state and logs; commands find a running mesh there. "
        "Default: $TOOLMESH_DATA, else a folder below your own data folder.",
    ),
]
Arguments = Annotated[str | None, typer.Option("--args", help="The arguments, a JSON object.", metavar="JSON")]
ArgumentsFile = Annotated[
    str | None, typer.Option("--args-file", help="Read the arguments from a file; - is stdin.", metavar="FILE|-")
]
ArtifactFiles = Annotated[
    list[str] | None,
    typer.Option("--artifact", help="Give a parameter that takes a file this one. Repeatable.", metavar="PARAM=FILE"),
]
CallTimeout = Annotated[
    float | None,
    typer.Option(
        "--timeout", help="Seconds until the call is given up.", min=0.001, max=LONGEST_TIMEOUT_S, metavar="SECONDS"
    ),
]
AsAgent = Annotated[
    str | None,
    typer.Option("--agent", help="Call it as this agent: its name and settings of the tool.", metavar="AGENT"),
]
AgentFiles = Annotated[
    list[Path] | None,
    typer.Option("--agents", help="Agent files to use instead of the running mesh's.", metavar="FILE|FOLDER"),
]
TaskId = Annotated[str, typer.Argument(help="The id that `toolmesh tasks list` shows.", metavar="TASK")]
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        help="Call with exactly these scopes instead of all that the mesh's owner has; with --user, with these "
        "of the user's scopes. Repeatable.",
        metavar="SCOPE",
    ),
]
CallingUser = Annotated[
    str | None,
    typer.Option("--user", help="Call on behalf of this user, with the scopes of their roles.", metavar="USER"),
]
SaveArtifacts = Annotated[
    Path | None,
    typer.Option("--save-artifacts", help="Save the files that the tool made here.", metavar="FOLDER"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Workers = Annotated[
    int, typer.Option("--workers", min=1, max=64, help="How many worker processes to start.", metavar="N")
]
AllowUnsandboxed = Annotated[
    bool,
    typer.Option("--allow-unsandboxed", help="Run tools WITHOUT isolation, where bubblewrap can't run (macOS)."),
]


def help_if_bare(context: typer.Context) -> None:
    """Show the help of a group that was given no command, which counts as wrong usage."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(exit_codes.USAGE)
