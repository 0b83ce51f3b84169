"""One run of a declared tool's command: from the arguments to its text, its status and its files."""

import asyncio
import math
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.values import WorkspaceCopy
from toolmesh_contracts.vessel import Service
from toolmesh_contracts.worker_config import ServiceEndpoint
from toolmesh_runtime.declared.call_arguments import as_flags, as_json, read_arguments
from toolmesh_runtime.declared.command_output import command_return
from toolmesh_runtime.declared.declared_tool import DeclaredTool
from toolmesh_runtime.declared.turn_workspaces import TurnWorkspaces
from toolmesh_runtime.process.cut_files import whole_files
from toolmesh_runtime.process.output_files import FileOutput, SortedOutputs, guess_mime_type
from toolmesh_runtime.process.tool_run import FinishedRun, OnStarted
from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.outputs import Collected, OutputFile, OutputLimits, collect
from toolmesh_sandbox.policy import Policy
from toolmesh_sandbox.process import Exit, Usage
from toolmesh_sandbox.workspaces import Workspace

__all__ = ["PATH", "CommandRun", "DeclaredCommands"]

PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where a command's program is looked for."""
_LANG: Final = "C.UTF-8"
_ONE_PIPE: Final = (
    "/bin/sh",
    "-c",
    'exec /usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ -- "$@" 2>&1',
    "sh",
)
"""Puts stderr into stdout's pipe, so that both arrive in the order of their writing, and what the sandbox itself has to
say does not get between them. Shells add variables to the environment; the command is not to see them."""
_OUTBOX_LIMITS: Final = OutputLimits(files=100, file_bytes=64 << 20, total_bytes=64 << 20, depth=4)


@dataclass(frozen=True, slots=True)
class _Call:
    """What to start, and what to write to its stdin."""

    argv: tuple[str, ...]
    stdin: bytes


@dataclass(frozen=True, slots=True)
class CommandRun:
    """What a run left.

    Attributes:
        finished: Text, status and files; they can be read until the run's context ends.
        workspace: How it left its turn's workspace.
    """

    finished: FinishedRun
    workspace: WorkspaceCopy | None


@dataclass(frozen=True, slots=True)
class DeclaredCommands:
    """Runs declared tools on one worker."""

    backend: Backend
    turns: TurnWorkspaces
    services: tuple[ServiceEndpoint, ...] = ()
    """What tools with a `service` may have called."""

    @asynccontextmanager
    async def run(
        self, tool: DeclaredTool, invocation: Invocation, arguments: bytes, wall_clock_s: float, on_started: OnStarted
    ) -> AsyncIterator[CommandRun]:
        """Run a tool once.

        Args:
            tool: What to run.
            invocation: The call.
            arguments: The model's arguments as they came.
            wall_clock_s: Seconds after which everything is killed.
            on_started: Awaited once the command has started, or the request to a service is about to.

        Raises:
            RefusedArgumentsError: the arguments can't be taken; nothing was started.
            WorkspaceLostError: the turn's workspace is gone.
            ServiceRefusedError: the worker may not call the tool's service.
            SandboxError: the sandbox can't be had.
        """
        if tool.settings.service is not None:
            await on_started()
            yield await self._served(tool, tool.settings.service, invocation, arguments, wall_clock_s)
            return
        call = await asyncio.to_thread(_prepared, tool, arguments)
        policy = self._policy(tool, wall_clock_s)
        async with self.turns.of(invocation, policy) as used:
            ended = await self._ended(tool, call, policy, used.workspace, on_started)
            returned = await asyncio.to_thread(command_return, ended, tool.output_chars, wall_clock_s)
            with await asyncio.to_thread(collect, used.workspace.outbox, _OUTBOX_LIMITS) as collected:
                await self.turns.save(used, invocation, policy)
                whole, notes = whole_files(
                    collected.files,
                    ended,
                    failed=returned.error is not None,
                    largest_bytes=policy.limits.file_bytes,
                )
                files = {file.name: file for file in whole}
                outputs = _outputs(whole, notes, collected)
                finished = FinishedRun(returned, outputs, files, ended.usage, ended.stdout)
                yield CommandRun(finished, used.copy)

    async def _served(
        self, tool: DeclaredTool, service: Service, invocation: Invocation, arguments: bytes, wall_clock_s: float
    ) -> CommandRun:
        # Here, because importing an HTTP client takes longer than a call, and most workers need none.
        from toolmesh_runtime.services.service_call import call_service

        body = await asyncio.to_thread(lambda: as_json(read_arguments(arguments)))
        began = time.monotonic()
        returned = await call_service(
            service, invocation, body, self.services, limit=tool.output_chars, wall_clock_s=wall_clock_s
        )
        usage = Usage(wall_ms=max(1, round((time.monotonic() - began) * 1000)), cpu_ms=0, peak_memory_bytes=0)
        return CommandRun(FinishedRun(returned, SortedOutputs((), (), ()), {}, usage, b""), None)

    async def _ended(
        self, tool: DeclaredTool, call: _Call, policy: Policy, workspace: Workspace, on_started: OnStarted
    ) -> Exit:
        inside = self.backend.inside(workspace)
        environment = {
            "PATH": PATH,
            "LANG": _LANG,
            "HOME": str(inside),
            "TMPDIR": str(inside),
            "VESSEL_OUTBOX": str(self.backend.outbox(workspace)),
        }
        started = replace(policy, folder=tool.workdir or inside)
        argv = (*_ONE_PIPE, *call.argv)
        async with self.backend.start(argv, environment, started, workspace, call.stdin) as process:
            await on_started()
            return await process.wait()

    @staticmethod
    def _policy(tool: DeclaredTool, wall_clock_s: float) -> Policy:
        # Each process may use all that the wall clock gives; a finite limit is needed, or it could be set anew inside.
        cpu_s = math.ceil(wall_clock_s * (os.cpu_count() or 1)) + 1
        policy = tool.program.policy.with_wall_clock(wall_clock_s)
        return replace(policy, limits=replace(policy.limits, cpu_s=cpu_s))


def _prepared(tool: DeclaredTool, data: bytes) -> _Call:
    arguments = read_arguments(data)
    if tool.settings.input == "args":
        properties = tool.settings.parameters.get("properties", {})
        return _Call((*tool.argv, *as_flags(arguments, properties)), b"")
    return _Call(tool.argv, as_json(arguments))


def _outputs(whole: Sequence[OutputFile], notes: Sequence[str], collected: Collected) -> SortedOutputs:
    files = tuple(FileOutput(file.name, guess_mime_type(file.name), "artifact") for file in whole)
    refused = (f"file {name!r} in the outbox was refused: {reason}" for name, reason in collected.refused[:50])
    return SortedOutputs(files, (), (*notes, *refused))
