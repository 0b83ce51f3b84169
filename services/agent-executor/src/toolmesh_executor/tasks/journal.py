"""A task's records on the broker: whoever takes the task over locks all others out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from toolmesh_broker.errors import RevisionConflictError
from toolmesh_broker.jetstream.event_log import EventLog
from toolmesh_contracts.ids import new_uuid7
from toolmesh_executor.loop.records import Record, TaskResumed, TaskStarted
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.tasks.errors import JournalLostError
from toolmesh_executor.tasks.events import read_event, written_event

__all__ = ["StreamJournal", "opened_journal"]


class StreamJournal:
    """See the port `Journal`; made by `opened_journal`.

    What others add meanwhile, such as a person's answer, is taken in. Nothing can be added any more once someone has
    ended the task, or, by who runs it, once another executor has written that it goes on with it.
    """

    def __init__(self, log: EventLog, task: str, writer: str, *, owns: bool) -> None:
        self._owns = owns
        self._log = log
        self._task = task
        self._writer = writer
        self._run = new_uuid7()
        self._state = TaskState()
        self._number = 0
        self._sequence = 0
        self._lock = asyncio.Lock()
        self._lost = False
        self._holds = False
        self._writing: set[asyncio.Task[bool]] = set()

    @property
    def state(self) -> TaskState:
        """Where the records lead to."""
        return self._state

    @property
    def number(self) -> int:
        """How many records there are."""
        return self._number

    @property
    def holds(self) -> bool:
        """Whether it was written here that this executor has the task."""
        return self._holds

    async def append(self, record: Record) -> None:
        """Add a record; when this returns, it is kept.

        A caller that is cancelled meanwhile leaves the write to end by itself: the next one waits for it.

        Raises:
            JournalLostError: the task is another's now.
            BrokerError: refused, or unknown whether it is kept.
        """
        while not await self.append_here(record):
            pass

    async def append_here(self, record: Record) -> bool:
        """Add a record right behind those that are known here; False if others have added some, which are now known.

        Errors as `append`.
        """
        writing = asyncio.create_task(self._append(record))
        self._writing.add(writing)
        writing.add_done_callback(self._ended)
        return await asyncio.shield(writing)

    async def refresh(self) -> None:
        """Take in what others have added.

        Raises:
            JournalLostError: the task is another's now.
            BrokerError: the broker can't be asked.
        """
        async with self._lock:
            await self._take_in()

    async def written(self) -> None:
        """Wait for writes whose callers were cancelled."""
        if self._writing:
            await asyncio.wait(self._writing)

    def _ended(self, writing: asyncio.Task[bool]) -> None:
        self._writing.discard(writing)
        if not writing.cancelled():
            writing.exception()  # whoever waits for it gets it; after a cancellation nobody does

    async def _append(self, record: Record) -> bool:
        async with self._lock:
            self._raise_if_over()
            number = self._number + 1
            body = written_event(self._task, number, self._writer, record)
            message_id = f"{self._run}.{number}"
            try:
                sequence = await self._log.append(self._task, body, message_id=message_id, after=self._sequence)
            except RevisionConflictError:
                await self._take_in()
                return False
            self._number, self._sequence = number, sequence
            self._state = self._state.after(record)
            self._holds = self._holds or isinstance(record, TaskStarted | TaskResumed)
            return True

    async def _take_in(self) -> None:
        for message in await self._log.read(self._task, self._sequence):
            event = read_event(message)
            self._number, self._sequence = event.number, event.sequence
            self._state = self._state.after(event.record)
            # Only records of others are ever read: our own are counted as they are written.
            self._lost = self._lost or (self._owns and isinstance(event.record, TaskResumed))
        self._raise_if_over()

    def _raise_if_over(self) -> None:
        if self._lost or self._state.ended is not None:
            raise JournalLostError(self._task)

    async def load(self) -> None:
        """Read all there is, whatever it is; for `opened_journal`."""
        for message in await self._log.read(self._task):
            event = read_event(message)
            self._number, self._sequence = event.number, event.sequence
            self._state = self._state.after(event.record)


@asynccontextmanager
async def opened_journal(log: EventLog, task: str, writer: str, *, owns: bool = False) -> AsyncIterator[StreamJournal]:
    """Read a task's records; at the end of the block no write is under way.

    Args:
        log: Where they are.
        task: The task's id.
        writer: Who adds some, for their readers.
        owns: Whether the writer runs the task, and has to stop when another one does.

    Raises:
        MalformedMessageError: a record can't be read.
        BrokerError: the broker can't be asked.
    """
    journal = StreamJournal(log, task, writer, owns=owns)
    await journal.load()
    try:
        yield journal
    finally:
        await journal.written()
