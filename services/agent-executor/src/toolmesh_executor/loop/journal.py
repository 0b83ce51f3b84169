"""Where a task's records go."""

from collections.abc import Callable
from typing import Protocol

from toolmesh_executor.loop.records import Record
from toolmesh_executor.loop.task_state import TaskState

__all__ = ["Journal", "MemoryJournal"]


class Journal(Protocol):
    """The records of one task, in the order in which they happened."""

    @property
    def state(self) -> TaskState:
        """Where they lead to."""

    async def append(self, record: Record) -> None:
        """Add a record; when this returns, it is kept."""

    async def refresh(self) -> None:
        """Take in what others have added."""


class MemoryJournal:
    """Keeps the state for as long as the process lives, and tells each record.

    Args:
        on_record: Is told each record once it is kept.
    """

    def __init__(self, on_record: Callable[[Record], None]) -> None:
        self._on_record = on_record
        self._state = TaskState()

    @property
    def state(self) -> TaskState:
        """Where the records lead to."""
        return self._state

    async def append(self, record: Record) -> None:
        """Add a record."""
        self._state = self._state.after(record)
        self._on_record(record)

    async def refresh(self) -> None:
        """Return at once: nobody else can add a record."""
