"""Remembers what programs said of their tools, and asks again when that is too old."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.tool_description import ToolDescriptions
from toolmesh_runtime.process.confinement import Confinement, ToolProgram
from toolmesh_runtime.toolsets.schema_probe import ProbeError, describe_program
from toolmesh_sandbox.errors import SandboxError

__all__ = ["SchemaCache"]

_PROBES_AT_ONCE: Final = 4
_SOON_S: Final = 3.0
"""A program that takes longer no longer counts as one of these."""
_ROUND: Final = 1.3
"""So many times the limit of one program is waited for all."""

_Answer = ToolDescriptions | ToolmeshError | SandboxError


@dataclass(frozen=True, slots=True)
class _Known:
    answer: _Answer
    asked_at: float


@dataclass(slots=True)
class SchemaCache:
    """Answers by program; a changed program is another one, because its folder is.

    Attributes:
        limit_s: Seconds that a program may take.
        retry_s: Seconds after which a program that failed is asked again.
    """

    confinement: Confinement
    limit_s: float
    retry_s: float
    _known: dict[ToolProgram, _Known] = field(default_factory=dict)
    _due_at: float = field(default=float("inf"))

    @property
    def due_at(self) -> float:
        """The earliest time (`time.monotonic`) at which an answer is too old."""
        return self._due_at

    async def ask(self, programs: Mapping[ToolProgram, float | None]) -> None:
        """Ask those that were not asked yet, or too long ago, and forget all others.

        Args:
            programs: Each with the seconds after which its answer is too old; None: never.
        """
        now = time.monotonic()
        kept = {
            program: known
            for program, known in self._known.items()
            if program in programs and now < self._expiry(known, programs[program])
        }
        gate = asyncio.Semaphore(_PROBES_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            asked = {
                program: group.create_task(self._ask(program, gate)) for program in programs if program not in kept
            }
            if asked:
                _, late = await asyncio.wait(asked.values(), timeout=self.limit_s * _ROUND)
                for task in late:
                    task.cancel()
        self._known = kept | {program: _result(task) for program, task in asked.items()}
        self._due_at = min(
            (self._expiry(known, programs[program]) for program, known in self._known.items()), default=float("inf")
        )

    def answer(self, program: ToolProgram) -> ToolDescriptions:
        """Return what a program said when it was last asked.

        Raises:
            ToolmeshError, SandboxError: why it gave no answer.
        """
        answer = self._known[program].answer
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _expiry(self, known: _Known, refresh_s: float | None) -> float:
        after_s = float("inf") if refresh_s is None else refresh_s
        if isinstance(known.answer, Exception):
            after_s = min(after_s, self.retry_s)
        return known.asked_at + after_s

    async def _ask(self, program: ToolProgram, gate: asyncio.Semaphore) -> _Known:
        async with asyncio.TaskGroup() as group:
            async with gate:
                asking = group.create_task(self._describe(program))
                # One that hangs must not keep the others from being asked.
                await asyncio.wait({asking}, timeout=_SOON_S)
            return _Known(await asking, time.monotonic())

    async def _describe(self, program: ToolProgram) -> _Answer:
        try:
            return await describe_program(self.confinement, program, limit_s=self.limit_s)
        except (ToolmeshError, SandboxError) as error:
            return error


def _result(task: "asyncio.Task[_Known]") -> _Known:
    if task.cancelled():
        answer = ProbeError("it was not asked yet, because other programs took too long; it is asked again soon")
        return _Known(answer, time.monotonic())
    return task.result()
