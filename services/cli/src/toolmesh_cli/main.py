"""The command `toolmesh`: its options and help. What a command does is imported when it runs."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from toolmesh_cli import exit_codes
from toolmesh_cli.access_app import access_app
from toolmesh_cli.agent_app import agent_app
from toolmesh_cli.broker_options import BrokerCredentials, BrokerNkey, BrokerUrl, Durability, Replicas
from toolmesh_cli.command_running import run_command
from toolmesh_cli.completion import one_of, tool_names
from toolmesh_cli.config_app import config_app
from toolmesh_cli.dead_app import dead_app
from toolmesh_cli.options import (
    EXIT_CODES_HELP,
    AgentFiles,
    AllowUnsandboxed,
    Arguments,
    ArgumentsFile,
    ArtifactFiles,
    AsAgent,
    AsJson,
    CallingUser,
    CallTimeout,
    DataFolder,
    SaveArtifacts,
    Scopes,
    Workers,
    help_if_bare,
)
from toolmesh_cli.standard_streams import open_missing_streams, silence
from toolmesh_cli.tasks_app import tasks_app
from toolmesh_cli.tool_app import tool_app

__all__ = ["app", "main"]

app = typer.Typer(
    name="toolmesh",
    help="Run an agent's tools in sandboxed workers, called over NATS JetStream.",
    epilog=f"""\b
Examples:
  toolmesh demo
  toolmesh tool init greet
  toolmesh up --workers 2 --tools examples/weather
  toolmesh call weather --args '{{"city": "Oslo"}}'
  toolmesh tools list

{EXIT_CODES_HELP}""",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
tools_app = typer.Typer(
    help="What the mesh serves.",
    epilog="\b\nExample:\n  toolmesh tools list --json",
    rich_markup_mode=None,
    no_args_is_help=False,
)
app.add_typer(agent_app)
app.add_typer(tools_app, name="tools")
app.add_typer(tool_app, name="tool")
app.add_typer(config_app, name="config")
app.add_typer(dead_app, name="dead")
app.add_typer(tasks_app, name="tasks")
app.add_typer(access_app, name="access")


@app.callback(invoke_without_command=True)
def _without_command(context: typer.Context) -> None:
    help_if_bare(context)


@tools_app.callback(invoke_without_command=True)
def _tools_without_command(context: typer.Context) -> None:
    help_if_bare(context)


@app.command(
    epilog="""\b
Examples:
  toolmesh up --tools examples/weather
  toolmesh up --workers 4 --tools tools/ --agents agents/ --pool web
  toolmesh up --broker nats://broker.example:4222 --broker-creds me.creds --tools tools/

Ctrl-C lets running calls finish; a second Ctrl-C ends everything at once."""
)
def up(
    tools: Annotated[
        list[Path] | None,
        typer.Option(
            help="Toolset folder, its manifest, or a folder of toolset folders. Repeatable.", metavar="FOLDER"
        ),
    ] = None,
    agents: Annotated[
        list[Path] | None,
        typer.Option(help="Agent file, or a folder of them. Repeatable.", metavar="FILE|FOLDER"),
    ] = None,
    authorization: Annotated[
        Path | None,
        typer.Option(help="What users may do: a file with `authorization_service`.", metavar="FILE"),
    ] = None,
    workers: Workers = 1,
    data: DataFolder = None,
    namespace: Annotated[str, typer.Option(help="Keeps meshes on one broker apart.", metavar="NAME")] = "default",
    pool: Annotated[str, typer.Option(help="Pool that the workers serve.", metavar="NAME")] = "default",
    broker: BrokerUrl = None,
    broker_creds: BrokerCredentials = None,
    broker_nkey: BrokerNkey = None,
    durability: Durability = None,
    replicas: Replicas = None,
    sandbox: Annotated[
        str,
        typer.Option(
            help="bwrap, or prlimit-only (limits, no isolation of files).",
            metavar="MODE",
            autocompletion=one_of("bwrap", "prlimit-only"),
        ),
    ] = "bwrap",
    allow_unsandboxed: AllowUnsandboxed = False,
) -> int:
    """Start broker, executor and workers in one go, and keep them running until Ctrl-C."""
    from toolmesh_cli.mesh_connection import folder_of
    from toolmesh_cli.mesh_options import MeshOptions
    from toolmesh_cli.up import run_up

    options = MeshOptions.of_command_line(
        tools=tools or [],
        agents=agents or [],
        authorization=authorization,
        workers=workers,
        data_folder=folder_of(data),
        namespace=namespace,
        pool=pool,
        broker_url=broker,
        broker_creds=broker_creds,
        broker_nkey=broker_nkey,
        sandbox=sandbox,
        allow_unsandboxed=allow_unsandboxed,
        durability=durability,
        replicas=replicas,
    )
    return run_command(run_up(options))


@app.command(
    epilog=f"""\b
Examples:
  toolmesh call weather --args '{{"city": "Oslo"}}'
  echo '{{"city": "Oslo"}}' | toolmesh call weather --args-file - --json
  toolmesh call resize --artifact image=photo.png --save-artifacts out/
  toolmesh call outlook_fahrenheit --agent weather_agent --args '{{"city": "Oslo"}}'

Statuses go to stderr, the result to stdout. Ctrl-C withdraws the call.

{EXIT_CODES_HELP}"""
)
def call(
    tool: Annotated[
        str,
        typer.Argument(
            help="The tool's name; with --agent, the name the agent gives it.",
            metavar="TOOL",
            autocompletion=tool_names,
        ),
    ],
    args: Arguments = None,
    args_file: ArgumentsFile = None,
    artifact: ArtifactFiles = None,
    agent: AsAgent = None,
    agents: AgentFiles = None,
    as_json: AsJson = False,
    timeout: CallTimeout = None,
    pool: Annotated[
        str | None, typer.Option(help="Needed only when several pools serve the tool.", metavar="POOL")
    ] = None,
    scope: Scopes = None,
    user: CallingUser = None,
    save_artifacts: SaveArtifacts = None,
    data: DataFolder = None,
) -> int:
    """Call one tool of a running mesh and print its result."""
    from toolmesh_cli.call import CallOptions, run_call

    options = CallOptions(
        tool=tool,
        arguments=args,
        arguments_file=args_file,
        artifacts=tuple(artifact or ()),
        agent=agent,
        agent_files=tuple(agents or ()),
        as_json=as_json,
        timeout_s=timeout,
        pool=pool,
        scopes=None if scope is None else tuple(scope),
        user=user,
        save_artifacts=save_artifacts,
        data_folder=data,
    )
    return run_command(run_call(options))


@app.command(
    epilog=f"""\b
Examples:
  toolmesh result 019ad1f0-7c5e-7d5b-9a53-1d2b8f1c7e44
  toolmesh result 019ad1f0-7c5e-7d5b-9a53-1d2b8f1c7e44 --json --save-artifacts out/

{EXIT_CODES_HELP}"""
)
def result(
    invocation: Annotated[
        str, typer.Argument(help="The call's id, which the error of the lost call names.", metavar="ID")
    ],
    pool: Annotated[
        str | None, typer.Option(help="The call's pool, if it is not that of the mesh.", metavar="POOL")
    ] = None,
    as_json: AsJson = False,
    save_artifacts: SaveArtifacts = None,
    data: DataFolder = None,
) -> int:
    """Print the stored result of a call whose caller is gone, for a day after the call's deadline."""
    from toolmesh_cli.result import ResultOptions, run_result

    options = ResultOptions(
        invocation=invocation, pool=pool, as_json=as_json, save_artifacts=save_artifacts, data_folder=data
    )
    return run_command(run_result(options))


@tools_app.command("list", epilog="\b\nExamples:\n  toolmesh tools list\n  toolmesh tools list --json")
def tools_list(as_json: AsJson = False, data: DataFolder = None) -> int:
    """List the tools that live workers serve, and what could not be loaded."""
    from toolmesh_cli.tools import run_tools_list

    return run_command(run_tools_list(data, as_json=as_json))


@app.command(epilog="\b\nExample:\n  toolmesh demo")
def demo(workers: Workers = 2, allow_unsandboxed: AllowUnsandboxed = False) -> int:
    """Start a mesh on the repository's examples, call their tools, and stop again."""
    from toolmesh_cli.demo import run_demo

    return run_command(run_demo(workers, allow_unsandboxed=allow_unsandboxed))


@app.command(epilog="\b\nExamples:\n  toolmesh doctor\n  toolmesh doctor --json\n  toolmesh doctor --sandbox")
def doctor(
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="Only attack each promise of each sandbox profile, and tell which hold.")
    ] = False,
    worker: Annotated[
        Path | None,
        typer.Option(
            help="With --sandbox: a worker's configuration, whose mode, floor and profiles count.", metavar="FILE"
        ),
    ] = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> int:
    """Check this machine, and the mesh that runs here; say what is wrong and its cure."""
    if sandbox:
        from toolmesh_cli.doctor.sandbox_promises import run_sandbox_test, settings_of

        return run_command(run_sandbox_test(settings_of(worker), as_json=as_json))
    if worker is not None:
        raise typer.BadParameter("--worker needs --sandbox")
    from toolmesh_cli.doctor.examination import run_doctor

    return run_command(run_doctor(data, as_json=as_json))


@app.command(epilog="\b\nExamples:\n  toolmesh version\n  toolmesh version --json")
def version(as_json: AsJson = False) -> int:
    """Show the versions of toolmesh and of what it runs on."""
    from toolmesh_cli.version import print_version

    return print_version(as_json=as_json)


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    open_missing_streams()
    try:
        code = app(standalone_mode=False, prog_name="toolmesh")
    except TyperException as error:
        code = _report_usage(error)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the top: a person gets one line
        code = _report(error)
    sys.exit(_flush() or code or exit_codes.OK)


def _flush() -> int:
    """Write what help texts may have left; Python's own flush at exit would say so in its own words."""
    try:
        sys.stdout.flush()
    except OSError:
        silence(sys.stdout)
        return exit_codes.FAILED
    return exit_codes.OK


def _report_usage(error: TyperException) -> int:
    from toolmesh_cli.terminal import Terminal

    # An option that lacks its value comes without a context.
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else _command_path(sys.argv[1:])
    Terminal.stderr().error("USAGE", error.format_message(), hint=f"see: {path} --help")
    return exit_codes.USAGE


def _command_path(words: Sequence[str]) -> str:
    """Return the command that a command line names."""
    command: object = typer.main.get_command(app)
    path = ["toolmesh"]
    for word in words:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        path.append(word)
    return " ".join(path)


def _report(error: BaseException) -> int:
    from toolmesh_cli.failures import describe
    from toolmesh_cli.terminal import Terminal

    if os.environ.get("TOOLMESH_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    failure = describe(error)
    if failure is None:
        message = f"{type(error).__name__}: {error}"
        Terminal.stderr().error("INTERNAL_ERROR", message, hint="set TOOLMESH_DEBUG=1 to see where it comes from")
        return exit_codes.FAILED
    if failure.exit_code != exit_codes.READER_GONE:
        Terminal.stderr().error(failure.code, failure.message, failure.hint)
    return failure.exit_code
