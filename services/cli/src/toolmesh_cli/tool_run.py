"""`toolmesh tool run`: one run of a tool without any server, statuses on stderr, the result on stdout."""

import asyncio
import functools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_cli.agent_settings import warn_of_misspelt
from toolmesh_cli.author_bench import author_bench, checked_profile
from toolmesh_cli.call_arguments import read_arguments
from toolmesh_cli.call_output import failures_as_json
from toolmesh_cli.followed_call import finish, ready_to_save, show_status
from toolmesh_cli.interruptible import interruptible
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_cli.tool_artifacts import bind_artifacts
from toolmesh_cli.tool_choice import choose_declared, choose_entries, describe_chosen
from toolmesh_cli.tool_settings import Settings, read_settings
from toolmesh_client.result import CallResult, load_result
from toolmesh_contracts.envelopes.catalog import DECLARED_PROFILE
from toolmesh_contracts.envelopes.reply import Status
from toolmesh_contracts.envelopes.values import ArtifactRef
from toolmesh_contracts.tool_places import is_agent_folder
from toolmesh_runtime.workbench.payload_folder import PayloadFolder
from toolmesh_runtime.workbench.single_run import LOCAL_POOL, SingleRun, run_once

__all__ = ["ToolRunOptions", "run_tool_once"]

_MAX_RESULT_BYTES: Final = 64 * 1024 * 1024
_SHOWN_BYTES: Final = 16 * 1024
"""The end of what the tool itself wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRunOptions:
    """What `toolmesh tool run` was asked for."""

    place: Path
    tool: str | None = None
    arguments: str | None = None
    arguments_file: str | None = None
    config: str | None = None
    artifacts: tuple[str, ...] = ()
    profile: str | None = None
    as_json: bool = False
    save_artifacts: Path | None = None
    sandboxed: bool = True


async def run_tool_once(options: ToolRunOptions) -> int:
    """Run the tool and return the exit code.

    With `--json` even a run that never began gives one JSON document on stdout.
    """
    with failures_as_json(wanted=options.as_json):
        return await _run(options)


async def _run(options: ToolRunOptions) -> int:
    arguments = read_arguments(options.arguments, options.arguments_file)
    await ready_to_save(options.save_artifacts)
    with tempfile.TemporaryDirectory(prefix="toolmesh-run-") as folder:
        payloads = PayloadFolder(Path(folder))
        result = await interruptible(_result(options, arguments, payloads, Terminal.stderr()))
        save = functools.partial(_save_file, payloads)
        return await finish(result, save, options.save_artifacts, as_json=options.as_json)


async def _result(options: ToolRunOptions, arguments: bytes, payloads: PayloadFolder, terminal: Terminal) -> CallResult:
    def on_status(status: Status) -> None:
        show_status(status, terminal)

    def on_output(stdout: bytes, stderr: bytes) -> None:
        for name, text in (("stdout", stdout), ("stderr", stderr)):
            for line in text[-_SHOWN_BYTES:].decode(errors="replace").splitlines():
                terminal.line(f"{terminal.paint(name, Colour.FAINT)}  {visible(line)}")

    if is_agent_folder(options.place):
        async with author_bench(terminal, sandboxed=options.sandboxed, profile=DECLARED_PROFILE) as bench:
            declared = await asyncio.to_thread(choose_declared, options.place, options.tool, bench, terminal)
            run = SingleRun(tool=declared, arguments=arguments)
            result = await run_once(run, bench.confinement, payloads, on_status, _ignore_output)
        return await load_result(result, LOCAL_POOL, payloads, payloads.bucket, _MAX_RESULT_BYTES)
    given = read_settings(options.config, os.environ)
    settings = given or Settings({})
    entries = choose_entries(options.place, options.tool, terminal)
    async with author_bench(terminal, sandboxed=options.sandboxed, profile=checked_profile(options.profile)) as bench:
        tool = await describe_chosen(entries, options.tool, bench, None if given is None else given.values)
        warn_of_misspelt(tool.description.config_schema, settings.values, "--config", terminal)
        complete, files = bind_artifacts(options.artifacts, tool.description.artifact_params, arguments)
        run = SingleRun(
            tool=tool, arguments=complete, config=settings.values, secrets=settings.secrets, artifacts=files
        )
        result = await run_once(run, bench.confinement, payloads, on_status, on_output)
    return await load_result(result, LOCAL_POOL, payloads, payloads.bucket, _MAX_RESULT_BYTES)


def _ignore_output(_stdout: bytes, _stderr: bytes) -> None:
    """A declared tool's output is its result."""


async def _save_file(payloads: PayloadFolder, artifact: ArtifactRef, path: Path) -> None:
    with await asyncio.to_thread(path.open, "xb") as file:
        async for chunk in payloads.open(artifact.payload):
            await asyncio.to_thread(file.write, chunk)
