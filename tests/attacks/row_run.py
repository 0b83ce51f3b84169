"""One call of a row: from the client through broker and worker into the sandbox, and back."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.attacks.meeting import Met, meet
from tests.attacks.midway import look_midway
from tests.attacks.row_tools import SECOND, RowCall
from tests.attacks.rows import Row
from tests.attacks.stage import Stage

from toolmesh_client import Client
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.values import ArtifactRef
from toolmesh_contracts.errors import ErrorCode

_LATE_S = 0.6
_SIGNALLED = 128
_IN_A_TURN = {"no_late", "next_call"}
_CUT = "\n[output cut: "


@dataclass(frozen=True)
class Place:
    """Where calls go: a worker's process, and what lies around it."""

    client: Client
    stage: Stage
    worker: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """How a row's call ended, while its neighbour still lives.

    Attributes:
        place: Where it ran.
        call: The call.
        result: What came back over the broker.
        seconds: Until it was back.
        met: Its process, as it was met from outside; None if it never came so far.
        neighbour: The process that it must not touch.
        grown_bytes: By how much the worker's memory grew at most.
        midway: What was wrong in the midst of the call.
        later: Files that another call of its turn found in the outbox.
    """

    place: Place
    call: RowCall
    result: CallResult
    seconds: float
    met: Met | None
    neighbour: int
    grown_bytes: int
    midway: str
    later: tuple[ArtifactRef, ...]

    @property
    def row(self) -> Row:
        """The row."""
        return self.call.row

    @cached_property
    def stdout(self) -> str:
        """What was kept of it."""
        return self.result.message.rpartition(_CUT)[0] if self.dropped else self.result.message

    @property
    def dropped(self) -> int:
        """How many characters of it were not kept."""
        return int(self._status.get("dropped_characters", 0))

    @property
    def timed_out(self) -> bool:
        """Whether it was reported so."""
        return self.result.error is not None and self.result.error.code is ErrorCode.SANDBOX_TIMEOUT

    @property
    def exit_code(self) -> int | None:
        """The command's, or 128 and the number of the signal that ended it; None where nobody says."""
        return self._status.get("exit_code")

    def ended_by(self, number: int) -> bool:
        """Whether it was reported that this signal ended it."""
        return self.exit_code == _SIGNALLED + number or f"signal {number} " in f"{self.result.message} "

    @property
    def _status(self) -> dict[str, Any]:
        return self.result.data if self.call.declared and isinstance(self.result.data, dict) else {}


@asynccontextmanager
async def row_run(place: Place, call: RowCall) -> AsyncIterator[Run]:
    """Call a row's tool and hand out how that ended."""
    turn = f"turn-{secrets.token_hex(6)}" if call.declared and call.row.get("host_check") in _IN_A_TURN else ""
    with ExitStack() as stack:
        before = _forget_peak(place.worker)
        began = time.monotonic()
        calling = asyncio.create_task(place.client.call(call.tool, call.arguments, turn=turn))
        try:
            met, neighbour, midway = await met_while(calling, call), 0, ""
            if met is not None:
                neighbour = stack.enter_context(place.stage.neighbour(met.uid))
                met.tell(place.stage.head(neighbour))
                midway = await look_midway(call.row.get("host_check"))
            result = await calling
        finally:
            await _ended(calling)
        seconds, grown = time.monotonic() - began, _memory(place.worker, "VmHWM") - before
        yield Run(
            place=place,
            call=call,
            result=result,
            seconds=seconds,
            met=met,
            neighbour=neighbour,
            grown_bytes=grown,
            midway=midway,
            later=await _later(place.client, turn),
        )


async def met_while(calling: asyncio.Task[CallResult], call: RowCall) -> Met | None:
    """Return a call's process once it waits, or None if the call ends before."""
    meeting = asyncio.create_task(meet(call.marker))
    try:
        await asyncio.wait({calling, meeting}, return_when=asyncio.FIRST_COMPLETED)
        return meeting.result() if meeting.done() else None
    finally:
        await _ended(meeting)


async def _ended(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})


async def _later(client: Client, turn: str) -> tuple[ArtifactRef, ...]:
    if not turn:
        return ()
    await asyncio.sleep(_LATE_S)
    return (await client.call(SECOND, b"{}", turn=turn)).artifacts


def _forget_peak(pid: int) -> int:
    """Have the kernel count a process's peak memory from now on, and return what it has now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return _memory(pid, "VmRSS")


def _memory(pid: int, name: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) * 1024
