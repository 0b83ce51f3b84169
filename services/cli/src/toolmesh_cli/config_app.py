"""The commands `toolmesh config ...`."""

from pathlib import Path
from typing import Annotated

import typer

from toolmesh_cli.completion import one_of
from toolmesh_cli.options import help_if_bare

__all__ = ["config_app"]

config_app = typer.Typer(
    help="Check configuration files.",
    epilog="\b\nExample:\n  toolmesh config validate worker.yaml agents/*.yaml",
    rich_markup_mode=None,
    no_args_is_help=False,
)


@config_app.callback(invoke_without_command=True)
def _without_command(context: typer.Context) -> None:
    help_if_bare(context)


@config_app.command(
    epilog="""\b
Examples:
  toolmesh config validate worker.yaml executor.yaml agents/*.yaml tools/*/manifest.yaml
  toolmesh config validate --kind worker settings.yaml

Variables such as ${TOKEN} are filled in from the environment, as the services do."""
)
def validate(
    files: Annotated[list[Path], typer.Argument(help="The files.", metavar="FILE", show_default=False)],
    kind: Annotated[
        str | None,
        typer.Option(
            help="worker, executor, agent, manifest, vessel, authorization, roles or users, where the content "
            "leaves it open.",
            metavar="KIND",
            autocompletion=one_of(
                "worker", "executor", "agent", "manifest", "vessel", "authorization", "roles", "users"
            ),
        ),
    ] = None,
) -> int:
    """Check worker, executor, agent, manifest, vessel and authorization files, and say all that is wrong."""
    from toolmesh_cli.config_validate import run_config_validate

    return run_config_validate(files, kind)
