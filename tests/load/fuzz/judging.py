"""Runs one case and says what is wrong with how it ended."""

import asyncio
import itertools
from dataclasses import dataclass, field
from pathlib import Path

from tests.load.fuzz.calling import Answer, Callers
from tests.load.fuzz.cases import Case, HostileTool, LeftResult, OddArguments, OddFile
from tests.load.fuzz.loading import load

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode

WALL_CLOCK_S = 2.0
"""Time limit of a hostile tool."""
ANSWER_S = 50.0
"""A case without an answer after so long hangs: wall clock, grace and the wait for a free slot on a busy machine."""

_OURS = frozenset(
    {ErrorCode.INTERNAL_ERROR, ErrorCode.SANDBOX_FAILED, ErrorCode.SANDBOX_UNAVAILABLE, ErrorCode.WORKER_LOST}
    | {ErrorCode.DEADLINE_EXCEEDED, ErrorCode.BROKER_UNREACHABLE, ErrorCode.BROKER_REFUSED}
)
"""No tool, argument or file may bring these about: they say that toolmesh failed."""


@dataclass(frozen=True)
class Judged:
    """How a case ended.

    Attributes:
        label: what became of it, to be counted.
        fault: what is wrong with that; empty for nothing.
        hang: there was no answer.
    """

    label: str
    fault: str = ""
    hang: bool = False


@dataclass(frozen=True)
class Judge:
    """Runs cases."""

    callers: Callers
    folder: Path
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def judge(self, case: Case) -> Judged:
        """Run a case to its end, or until it is clear that it hangs."""
        kind = type(case).__name__
        try:
            async with asyncio.timeout(ANSWER_S):
                if isinstance(case, OddFile):
                    place = self.folder / str(next(self._numbers))
                    label, fault = await asyncio.to_thread(load, case.loader, case.content, place)
                else:
                    answer = await self._answer(case)
                    label, fault = _label(answer), _fault(answer, must_fail=case.must_fail)
        except TimeoutError:
            return Judged(f"{kind}: hang", f"no answer within {ANSWER_S:g} s", hang=True)
        return Judged(f"{kind}: {label}", fault)

    async def _answer(self, case: HostileTool | LeftResult | OddArguments) -> Answer:
        if isinstance(case, HostileTool):
            return await self.callers.call(f"hostile_{case.profile}", case.arguments)
        if isinstance(case, LeftResult):
            return await self.callers.call("hostile_restrictive", case.arguments)
        if case.way == "client":
            return await self.callers.call("typed", case.content)
        return await self.callers.call_carelessly("typed", case.content, stored=case.way == "payload")


def _label(answer: Answer) -> str:
    return str(answer.outcome) if answer.error is None else str(answer.error.code)


def _fault(answer: Answer, *, must_fail: bool) -> str:
    failed = answer.outcome in {Outcome.ERROR, Outcome.AUTH_REQUIRED}
    if failed and (answer.error is None or not answer.error.message):
        return "an error without a message"
    if answer.error is not None and answer.error.code in _OURS:
        return f"{answer.error.code}: {answer.error.message}"
    if must_fail and answer.outcome is Outcome.OK:
        return "a failure was reported as a success"
    return ""
