"""The commands `toolmesh tasks ...`: what agents were asked, and where it stands."""

from typing import Annotated

import typer

from toolmesh_cli.command_running import run_command
from toolmesh_cli.options import EXIT_CODES_HELP, AsJson, DataFolder, TaskId, help_if_bare

__all__ = ["tasks_app"]

tasks_app = typer.Typer(
    help="Tasks of agents: see them, follow them, take them back.",
    epilog="""\b
Example:
  toolmesh tasks list
  toolmesh tasks show 0190a0b0-0000-7000-8000-000000000000""",
    rich_markup_mode=None,
    no_args_is_help=False,
)


@tasks_app.callback(invoke_without_command=True)
def _without_command(context: typer.Context) -> None:
    help_if_bare(context)


@tasks_app.command(
    "list",
    epilog="""\b
Examples:
  toolmesh tasks list
  toolmesh tasks list --most 100 --json

Tasks are remembered for a week. One that no executor has begun is not shown yet.""",
)
def list_(
    most: Annotated[int, typer.Option(help="How many to show.", min=1, max=10_000)] = 20,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> int:
    """List tasks, the newest first: state, agent, who asked, what."""
    from toolmesh_cli.tasks import run_tasks_list

    return run_command(run_tasks_list(data, most, as_json=as_json))


@tasks_app.command(
    epilog="""\b
Examples:
  toolmesh tasks show 0190a0b0-0000-7000-8000-000000000000
  toolmesh tasks show 0190a0b0-0000-7000-8000-000000000000 --json

With --json each event is a line of its own."""
)
def show(task: TaskId, as_json: AsJson = False, data: DataFolder = None) -> int:
    """Show what happened in a task, step by step, and where it stands."""
    from toolmesh_cli.tasks import run_tasks_show

    return run_command(run_tasks_show(data, task, as_json=as_json))


@tasks_app.command(
    epilog=f"""\b
Example:
  toolmesh tasks cancel 0190a0b0-0000-7000-8000-000000000000 --reason "asked twice"

Its calls are cancelled, and so are the tasks that it gave to other agents.

{EXIT_CODES_HELP}"""
)
def cancel(
    task: TaskId,
    reason: Annotated[str, typer.Option(help="Why, for who reads its events.", metavar="TEXT")] = "",
    data: DataFolder = None,
) -> int:
    """Take a task back, whether it is queued, running or waiting."""
    from toolmesh_cli.tasks import run_tasks_cancel

    return run_command(run_tasks_cancel(data, task, reason))
