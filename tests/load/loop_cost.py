"""What the loop adds to a turn outside the model and the tools, as CPU time: `python -m tests.load.loop_cost`.

A turn has 20 tools to offer, a text that comes in 100 pieces, two calls and five statuses of each; each record is
written down. Prints the median of five rounds as the last line; 1 if it is over the promised 5 ms.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from tests.support.function_tools import FunctionTools, OnStatus

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_executor.loop.decisions import LoopLimits
from toolmesh_executor.loop.journal import MemoryJournal
from toolmesh_executor.loop.records import Record, TaskStarted
from toolmesh_executor.loop.runner import LoopSettings, TaskRun
from toolmesh_executor.loop.toolbox import ToolOutcome
from toolmesh_executor.models.turns import AskedCall, TurnAnswer, TurnQuestion

TURNS: Final = 30
TASKS: Final = 10
PROMISED_MS: Final = 5.0


async def _tells(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
    """Answer with a kilobyte."""
    for number in range(5):
        on_status(f"step {number}")
    return ToolOutcome(outcome=Outcome.OK, content="x" * 1000)


class Model:
    """Calls two tools in each turn but the last."""

    def __init__(self) -> None:
        self._turns = 0

    async def __call__(
        self,
        question: TurnQuestion,
        on_text: Callable[[str], Awaitable[None]],
        on_again: Callable[[str], Awaitable[None]],
    ) -> TurnAnswer:
        self._turns += 1
        for _ in range(100):
            await on_text("text")
        calls = tuple(AskedCall(f"id-{number}", f"tool_{number}", '{"city": "Oslo"}') for number in range(2))
        last = self._turns == TURNS
        return TurnAnswer(
            text="text" * 100,
            calls=() if last else calls,
            finish="stop" if last else "tools",
            response=b"[]",
            input_tokens=1,
            output_tokens=1,
        )


async def _task() -> int:
    """Run one task and return how many bytes its records have."""
    written = 0

    def write(record: Record) -> None:
        nonlocal written
        written += len(msgspec.json.encode(record))

    journal = MemoryJournal(write)
    await journal.append(TaskStarted(agent="a", user="u", text="why?"))
    tools = FunctionTools({f"tool_{number}": _tells for number in range(20)}, "Be exact.")
    settings = LoopSettings(model="m", instruction="Be kind.", limits=LoopLimits(), piece_bytes=100)
    await TaskRun(journal, tools, Model(), settings).run()
    return written


def _round_ms() -> float:
    before = time.process_time()
    for _ in range(TASKS):
        asyncio.run(_task())
    return 1000 * (time.process_time() - before) / (TASKS * TURNS)


def main() -> int:
    """Measure and print."""
    rounds = [_round_ms() for _ in range(5)]
    median = statistics.median(rounds)
    sys.stdout.write(f"rounds: {', '.join(f'{one:.2f}' for one in rounds)} ms\n")
    sys.stdout.write(f"loop-cost: {median:.2f} ms CPU a turn\n")
    return 0 if median <= PROMISED_MS else 1


if __name__ == "__main__":
    sys.exit(main())
