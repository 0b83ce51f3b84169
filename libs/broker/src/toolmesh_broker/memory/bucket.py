"""A key-value bucket in memory. See the port `KeyValue`."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from toolmesh_broker.errors import KeyExistsError, RevisionConflictError
from toolmesh_broker.memory.patterns import matches
from toolmesh_broker.memory.timers import Timers
from toolmesh_broker.ports import Change, Deleted, Entry, InitialDone
from toolmesh_broker.ttl import whole_seconds

__all__ = ["Bucket", "BucketWatch"]


@dataclass(slots=True)
class _Slot:
    entry: Entry | None
    revision: int
    expiry: asyncio.TimerHandle | None = None


class BucketWatch:
    """An async iterator of changes."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._changes: deque[Change] = deque()
        self._signal = asyncio.Event()

    def tell(self, change: Change) -> None:
        """Queue a change for the iteration."""
        self._changes.append(change)
        self._signal.set()

    def __aiter__(self) -> "BucketWatch":
        return self

    async def __anext__(self) -> Change:
        """Wait for the next change."""
        while not self._changes:
            self._signal.clear()
            await self._signal.wait()
        return self._changes.popleft()


class Bucket:
    """One bucket with compare-and-set, TTL and watches."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._slots: dict[str, _Slot] = {}
        self._revision = 0
        self._watches: list[BucketWatch] = []

    async def get(self, key: str) -> Entry | None:
        """Return the key's value, or None."""
        slot = self._slots.get(key)
        return slot.entry if slot is not None else None

    async def create(self, key: str, value: bytes, ttl_s: float | None = None) -> int:
        """Write a key that has no value."""
        if await self.get(key) is not None:
            raise KeyExistsError(key)
        return self._write(key, value, ttl_s)

    async def update(self, key: str, value: bytes, revision: int, ttl_s: float | None = None) -> int:
        """Write a key that is still at `revision`."""
        self._check(key, revision)
        return self._write(key, value, ttl_s)

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> int:
        """Write a key whatever it holds."""
        return self._write(key, value, ttl_s)

    async def delete(self, key: str, revision: int | None = None) -> None:
        """Remove a key's value."""
        if revision is not None:
            self._check(key, revision)
        self._remove(key)

    async def keys(self, pattern: str = ">") -> list[str]:
        """Return the keys that have a value now and match."""
        return [key for key, slot in self._slots.items() if slot.entry is not None and matches(pattern, key)]

    @contextlib.asynccontextmanager
    async def watch(self, pattern: str = ">") -> AsyncIterator[BucketWatch]:
        """Follow the keys that match."""
        watch = BucketWatch(pattern)
        for key, slot in self._slots.items():
            if slot.entry is not None and matches(pattern, key):
                watch.tell(slot.entry)
        watch.tell(InitialDone())
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def _check(self, key: str, revision: int) -> None:
        slot = self._slots.get(key)
        if (slot.revision if slot is not None else 0) != revision:
            raise RevisionConflictError(key, revision)

    def _write(self, key: str, value: bytes, ttl_s: float | None) -> int:
        slot = self._next(key)
        entry = slot.entry = Entry(key, value, slot.revision)
        if ttl_s is not None:
            slot.expiry = self._timers.after(whole_seconds(ttl_s), lambda: self._remove(key))
        for watch in self._watches:
            if matches(watch.pattern, key):
                watch.tell(entry)
        return entry.revision

    def _remove(self, key: str) -> None:
        had_value = key in self._slots and self._slots[key].entry is not None
        self._next(key).entry = None
        if had_value:
            for watch in self._watches:
                if matches(watch.pattern, key):
                    watch.tell(Deleted(key))

    def _next(self, key: str) -> _Slot:
        """Move the key to a new revision, as a delete does too."""
        self._revision += 1
        slot = self._slots.setdefault(key, _Slot(None, 0))
        self._timers.cancel(slot.expiry)
        slot.expiry = None
        slot.revision = self._revision
        return slot
