"""The commands that talk to agents: `toolmesh ask`, `toolmesh chat` and `toolmesh answer`."""

from typing import Annotated

import typer

from toolmesh_cli.command_running import run_command
from toolmesh_cli.options import EXIT_CODES_HELP, LONGEST_TIMEOUT_S, AsJson, CallingUser, DataFolder, Scopes, TaskId

__all__ = ["agent_app"]

agent_app = typer.Typer(rich_markup_mode=None)


@agent_app.command(
    epilog=f"""\b
Examples:
  toolmesh ask weather_agent "What is the weather in Oslo?"
  toolmesh ask weather_agent "Compare Oslo and Bergen" --json
  git log -3 | toolmesh ask writer -

On a terminal the answer appears as it is written; else stdout gets the whole answer alone. Steps go to stderr.
Ctrl-C gives the task up. If a tool needs a person, the command ends with 6 and says how to answer.

{EXIT_CODES_HELP}"""
)
def ask(
    agent: Annotated[str, typer.Argument(help="The agent's name.", metavar="AGENT")],
    text: Annotated[str, typer.Argument(help="What to ask; `-` reads it from stdin.", metavar="TEXT")],
    as_json: AsJson = False,
    timeout: Annotated[
        float | None,
        typer.Option(help="Seconds until the task is given up.", min=0.001, max=LONGEST_TIMEOUT_S, metavar="SECONDS"),
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
        as_json=as_json,
        timeout_s=timeout,
        scopes=None if scope is None else tuple(scope),
        user=user,
        data_folder=data,
    )
    return run_command(run_ask(options))


@agent_app.command(
    epilog=f"""\b
Examples:
  toolmesh chat weather_agent
  toolmesh chat weather_agent --resume 0190a0b0-0000-7000-8000-000000000000

Type /help there. Ctrl-C gives a task up, Ctrl-D leaves. Lines can also come through a pipe.
When a tool needs your approval, or asks something, the next line is your answer.

{EXIT_CODES_HELP}"""
)
def chat(
    agent: Annotated[str, typer.Argument(help="The agent's name.", metavar="AGENT")],
    resume: Annotated[
        str, typer.Option(help="Go on with the conversation whose last task this is.", metavar="TASK")
    ] = "",
    scope: Scopes = None,
    user: CallingUser = None,
    data: DataFolder = None,
) -> int:
    """Talk to an agent, which remembers the conversation until you leave."""
    from toolmesh_cli.chat import ChatOptions, run_chat

    options = ChatOptions(
        agent=agent,
        resume=resume,
        scopes=None if scope is None else tuple(scope),
        user=user,
        data_folder=data,
    )
    return run_command(run_chat(options))


@agent_app.command(
    epilog=f"""\b
Examples:
  toolmesh answer 0190a0b0-0000-7000-8000-000000000000 --yes
  toolmesh answer 0190a0b0-0000-7000-8000-000000000000 --no "not on a Friday"
  toolmesh answer 0190a0b0-0000-7000-8000-000000000000 --call 2.1 "the one in Norway"

The task goes on by itself; `toolmesh tasks show TASK` tells how.

{EXIT_CODES_HELP}"""
)
def answer(
    task: TaskId,
    text: Annotated[str, typer.Argument(help="What you answer, or why not.", metavar="TEXT")] = "",
    call: Annotated[str, typer.Option(help="Which call asks; needed if several do.", metavar="CALL")] = "",
    yes: Annotated[
        bool | None, typer.Option("--yes/--no", help="Agree to the call, or don't.", show_default=False)
    ] = None,
    scope: Scopes = None,
    user: CallingUser = None,
    data: DataFolder = None,
) -> int:
    """Answer what a tool of a waiting task asks."""
    from toolmesh_cli.answer import AnswerOptions, run_answer

    options = AnswerOptions(
        task=task,
        text=text,
        call=call,
        approved=yes,
        scopes=None if scope is None else tuple(scope),
        user=user,
        data_folder=data,
    )
    return run_command(run_answer(options))
