"""The commands that talk to agents: `toolmesh ask` and `toolmesh chat`."""

from typing import Annotated

import typer

from toolmesh_cli.command_running import run_command
from toolmesh_cli.options import EXIT_CODES_HELP, AgentFiles, AsJson, CallingUser, DataFolder, Scopes

__all__ = ["agent_app"]

agent_app = typer.Typer(rich_markup_mode=None)


@agent_app.command(
    epilog=f"""\b
Examples:
  toolmesh ask weather_agent "What is the weather in Oslo?"
  toolmesh ask weather_agent "Compare Oslo and Bergen" --json
  git log -3 | toolmesh ask writer -

On a terminal the answer appears as it is written; else stdout gets the whole answer alone. Steps go to stderr.
Without a model in the agent's file, TOOLMESH_MODEL names one. Ctrl-C gives the task up.

{EXIT_CODES_HELP}"""
)
def ask(
    agent: Annotated[str, typer.Argument(help="The agent's name.", metavar="AGENT")],
    text: Annotated[str, typer.Argument(help="What to ask; `-` reads it from stdin.", metavar="TEXT")],
    agents: AgentFiles = None,
    as_json: AsJson = False,
    timeout: Annotated[
        float | None,
        typer.Option(help="Seconds until the task is given up.", min=0.001, metavar="SECONDS"),
    ] = None,
    scope: Scopes = None,
    user: CallingUser = None,
    data: DataFolder = None,
) -> int:
    """Ask an agent, which calls its tools on the running mesh, and print its answer."""
    from toolmesh_cli.ask import AskOptions, run_ask

    options = AskOptions(
        agent=agent,
        text=text,
        agent_files=tuple(agents or ()),
        as_json=as_json,
        timeout_s=timeout,
        scopes=None if scope is None else tuple(scope),
        user=user,
        data_folder=data,
    )
    return run_command(run_ask(options))


@agent_app.command(
    epilog=f"""\b
Example:
  toolmesh chat weather_agent

Type /help there. Ctrl-C gives a task up, Ctrl-D leaves. Lines can also come through a pipe.

{EXIT_CODES_HELP}"""
)
def chat(
    agent: Annotated[str, typer.Argument(help="The agent's name.", metavar="AGENT")],
    agents: AgentFiles = None,
    scope: Scopes = None,
    user: CallingUser = None,
    data: DataFolder = None,
) -> int:
    """Talk to an agent, which remembers the conversation until you leave."""
    from toolmesh_cli.chat import ChatOptions, run_chat

    options = ChatOptions(
        agent=agent,
        agent_files=tuple(agents or ()),
        scopes=None if scope is None else tuple(scope),
        user=user,
        data_folder=data,
    )
    return run_command(run_chat(options))
