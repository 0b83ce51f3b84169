"""The one writer of a task's records while its tools run side by side."""

import asyncio
from dataclasses import dataclass, field

from toolmesh_executor.loop.journal import Journal
from toolmesh_executor.loop.records import Record

__all__ = ["RecordQueue"]


@dataclass(frozen=True, slots=True)
class _Waiting:
    record: Record
    kept: asyncio.Future[None] | None = field(default=None)


class RecordQueue:
    """Records on their way into the journal, in the order in which they came.

    Args:
        journal: Where they go.
        most: So many may wait before further lines of progress are dropped: a tool must not fill the memory.
    """

    def __init__(self, journal: Journal, most: int) -> None:
        self._journal = journal
        self._most = most
        self._waiting: asyncio.Queue[_Waiting] = asyncio.Queue()

    def offer(self, record: Record) -> None:
        """Have a record written some time, or drop it."""
        if self._waiting.qsize() < self._most:
            self._waiting.put_nowait(_Waiting(record))

    async def write(self, record: Record) -> None:
        """Return once a record, and all that were offered before it, are kept."""
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait(_Waiting(record, kept))
        await kept

    async def drained(self) -> None:
        """Wait until everything that was offered is written."""
        await self._waiting.join()

    async def run(self) -> None:
        """Write for ever.

        Raises:
            ToolmeshError: the journal takes no more; whoever waits for a record waits until it is cancelled.
        """
        while True:
            next_one = await self._waiting.get()
            await self._journal.append(next_one.record)
            if next_one.kept is not None and not next_one.kept.done():
                next_one.kept.set_result(None)
            self._waiting.task_done()
