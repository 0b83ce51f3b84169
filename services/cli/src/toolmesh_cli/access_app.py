"""The commands `toolmesh access ...`: what a user may do, and why."""

from typing import Annotated

import typer

from toolmesh_cli.command_running import run_command
from toolmesh_cli.options import AsJson, DataFolder, help_if_bare

__all__ = ["access_app"]

_User = Annotated[str, typer.Argument(help="The user's id, such as an e-mail address, or system:NAME.", metavar="USER")]
_Claims = Annotated[
    list[str] | None,
    typer.Option("--claim", help="What the identity provider says of the user. Repeatable.", metavar="KEY=VALUE"),
]

access_app = typer.Typer(
    help="What a user may do, and why.",
    epilog="\b\nExample:\n  toolmesh access show ann@example.com",
    rich_markup_mode=None,
    no_args_is_help=False,
)


@access_app.callback(invoke_without_command=True)
def _without_command(context: typer.Context) -> None:
    help_if_bare(context)


@access_app.command(
    epilog="""\b
Examples:
  toolmesh access show ann@example.com
  toolmesh access show ann@example.com --claim groups=planning-team --json"""
)
def show(user: _User, claim: _Claims = None, as_json: AsJson = False, data: DataFolder = None) -> int:
    """Show a user's roles, where each comes from, and which agents and tools they may call."""
    from toolmesh_cli.access_show import run_access_show

    return run_command(run_access_show(data, user, claim or (), as_json=as_json))


@access_app.command(
    epilog="""\b
Examples:
  toolmesh access check ann@example.com agent:weather_agent:invoke
  toolmesh access check ann@example.com tool:alarm:write --json

Exit codes: 0 the user has all of the scopes, 1 not all, 2 usage or configuration, 3 no mesh runs."""
)
def check(
    user: _User,
    scopes: Annotated[list[str], typer.Argument(help="The scopes.", metavar="SCOPE", show_default=False)],
    claim: _Claims = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> int:
    """Tell whether a user has scopes."""
    from toolmesh_cli.access_check import run_access_check

    return run_access_check(data, user, claim or (), scopes, as_json=as_json)
