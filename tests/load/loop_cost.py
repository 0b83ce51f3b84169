"""What the loop adds to a turn outside the model and the tools, as CPU time: `python -m tests.load.loop_cost`.

A turn has 20 tools to offer, a text that comes in 100 pieces, two calls and five statuses of each; each of its some twenty
records is appended to the task's events on a real broker. Prints the median of five rounds as the last line; 1 if it is over the promised 5 ms.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from tests.support.brokers import provisioned_jetstream
from tests.support.function_tools import FunctionTools, OnStatus
from tests.support.nats_server import nats_server

from toolmesh_broker.jetstream.event_log import EventLog
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.ids import new_uuid7
from toolmesh_executor.loop.decisions import LoopLimits
from toolmesh_executor.loop.records import TaskStarted
from toolmesh_executor.loop.runner import LoopSettings, TaskRun
from toolmesh_executor.loop.toolbox import ToolOutcome
from toolmesh_executor.models.turns import AskedCall, TurnAnswer, TurnQuestion
from toolmesh_executor.tasks.journal import opened_journal

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


async def _task(log: EventLog) -> None:
    async with opened_journal(log, new_uuid7(), "executor", owns=True) as journal:
        await journal.append(TaskStarted(agent="a", user="u", text="why?"))
        settings = LoopSettings(model="m", instruction="Be kind.", limits=LoopLimits(), piece_bytes=100)
        tools = FunctionTools({f"tool_{number}": _tells for number in range(20)}, "Be exact.")
        await TaskRun(journal, tools, Model(), settings).run()


async def _rounds_ms() -> list[float]:
    rounds = []
    with tempfile.TemporaryDirectory(prefix="toolmesh-loop-") as folder:
        async with nats_server(Path(folder)) as server, provisioned_jetstream(server) as broker:
            for _ in range(5):
                before = time.process_time()
                for _ in range(TASKS):
                    await _task(broker.events())
                rounds.append(1000 * (time.process_time() - before) / (TASKS * TURNS))
    return rounds


def main() -> int:
    """Measure and print."""
    rounds = asyncio.run(_rounds_ms())
    median = statistics.median(rounds)
    sys.stdout.write(f"rounds: {', '.join(f'{one:.2f}' for one in rounds)} ms\n")
    sys.stdout.write(f"loop-cost: {median:.2f} ms CPU a turn\n")
    return 0 if median <= PROMISED_MS else 1


if __name__ == "__main__":
    sys.exit(main())
