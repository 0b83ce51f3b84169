"""The commands `toolmesh dead ...`: calls that no worker would run, kept with the reason."""

from typing import Annotated

import typer

from toolmesh_cli.command_running import run_command
from toolmesh_cli.options import (
    AgentFiles,
    AsAgent,
    AsJson,
    CallingUser,
    CallTimeout,
    DataFolder,
    SaveArtifacts,
    Scopes,
    help_if_bare,
)

__all__ = ["dead_app"]

_Id = Annotated[str, typer.Argument(help="The id that `toolmesh dead list` shows.", metavar="ID")]

dead_app = typer.Typer(
    help="Calls that no worker would run: see why, call them again, or drop them.",
    epilog="""\b
Example:
  toolmesh dead list
  toolmesh dead requeue 0190a0b0-0000-7000-8000-000000000000""",
    rich_markup_mode=None,
    no_args_is_help=False,
)


@dead_app.callback(invoke_without_command=True)
def _without_command(context: typer.Context) -> None:
    help_if_bare(context)


@dead_app.command(
    "list",
    epilog="""\b
Examples:
  toolmesh dead list
  toolmesh dead list --json

Arguments are not shown; `toolmesh dead show ID` does.""",
)
def list_(as_json: AsJson = False, data: DataFolder = None) -> int:
    """List the dead letters, the oldest first, each with its reason."""
    from toolmesh_cli.dead_letters import run_dead_list

    return run_command(run_dead_list(data, as_json=as_json))


@dead_app.command(
    epilog="""\b
Examples:
  toolmesh dead show 0190a0b0-0000-7000-8000-000000000000
  toolmesh dead show 0190a0b0-0000-7000-8000-000000000000 --json

Arguments may hold private data. Token, signature and sealed secrets are not shown."""
)
def show(identity: _Id, as_json: AsJson = False, data: DataFolder = None) -> int:
    """Show a dead letter with its arguments; all of them, the oldest first, if several have this id."""
    from toolmesh_cli.dead_letters import run_dead_show

    return run_command(run_dead_show(data, identity, as_json=as_json))


@dead_app.command(
    epilog="""\b
Examples:
  toolmesh dead requeue 0190a0b0-0000-7000-8000-000000000000
  toolmesh dead requeue 0190a0b0-0000-7000-8000-000000000000 --timeout 60 --json
  toolmesh dead requeue 0190a0b0-0000-7000-8000-000000000000 --agent weather_agent

The new call has another id and your token, not the former caller's. It is shown and ends as
`toolmesh call` does; the letter goes once the call has run, or has become a letter anew.
Secret settings were sealed to the former call: with --agent they come from the agent's file."""
)
def requeue(
    identity: _Id,
    as_json: AsJson = False,
    agent: AsAgent = None,
    agents: AgentFiles = None,
    timeout: CallTimeout = None,
    scope: Scopes = None,
    user: CallingUser = None,
    save_artifacts: SaveArtifacts = None,
    data: DataFolder = None,
) -> int:
    """Call once more what a dead letter was to do."""
    from toolmesh_cli.dead_letters import RequeueOptions, run_dead_requeue

    options = RequeueOptions(
        identity=identity,
        as_json=as_json,
        timeout_s=timeout,
        scopes=None if scope is None else tuple(scope),
        user=user,
        agent=agent,
        agent_files=tuple(agents or ()),
        save_artifacts=save_artifacts,
        data_folder=data,
    )
    return run_command(run_dead_requeue(options))


@dead_app.command(
    epilog="""\b
Examples:
  toolmesh dead drop 0190a0b0-0000-7000-8000-000000000000
  toolmesh dead drop 0190a0b0-0000-7000-8000-000000000000 unknown-17 --json"""
)
def drop(
    identities: Annotated[list[str], typer.Argument(help="Ids that `toolmesh dead list` shows.", metavar="ID...")],
    as_json: AsJson = False,
    data: DataFolder = None,
) -> int:
    """Remove dead letters for good."""
    from toolmesh_cli.dead_letters import run_dead_drop

    return run_command(run_dead_drop(data, identities, as_json=as_json))
