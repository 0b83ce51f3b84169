"""Calls whose effects are counted outside of every sandbox, and the account of what became of each."""

import asyncio
import contextlib
import itertools
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.sample_toolsets import EFFECT, write_toolset

from toolmesh_client import CallResult, Client
from toolmesh_contracts.errors import ErrorCode

IN_THE_OPEN: Mapping[str, Any] = {"sandbox": {"mode": "direct", "allow_direct": True}}
"""What a worker's configuration needs for its tools to reach the file of effects."""


@dataclass
class Effects:
    """A tool that leaves a line in a file, and its calls.

    Attributes:
        toolset: What a worker has to serve.
        file: Where the lines are.
        results: Of the calls that ended, by name.
    """

    toolset: Path
    file: Path
    results: dict[str, CallResult] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def call(self, client: Client, *, seconds: float = 0.2, timeout_s: float = 60) -> CallResult:
        """Make one call of a name of its own."""
        name = f"call-{next(self._numbers)}"
        arguments = {"name": name, "file": str(self.file), "seconds": seconds}
        result = await client.call("effect", arguments, timeout_s=timeout_s)
        self.results[name] = result
        return result

    @asynccontextmanager
    async def callers(self, client: Client, count: int, *, seconds: float = 0.2) -> AsyncIterator[None]:
        """Keep so many calls under way inside the block; at its end wait for the last ones."""
        over = asyncio.Event()

        async def caller() -> None:
            while not over.is_set():
                await self.call(client, seconds=seconds)

        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(caller())
            try:
                yield
            finally:
                over.set()

    async def until_ended(self, more: int) -> None:
        """Wait until so many calls more have ended."""
        wanted = len(self.results) + more
        while len(self.results) < wanted:
            await asyncio.sleep(0.05)

    def happened(self) -> Counter[str]:
        """How often each call had its effect."""
        return Counter(self.file.read_text().split())

    def problems(self, *allowed: ErrorCode) -> list[str]:
        """What breaks a promise: an effect that happened twice, is missing, or that nobody answers for.

        A call may fail by WORKER_LOST, and by what else is `allowed`.
        """
        happened = self.happened()
        found = [f"{name} had its effect {times} times" for name, times in happened.items() if times > 1]
        found += [f"{name} had an effect and no result" for name in happened.keys() - self.results.keys()]
        for name, result in self.results.items():
            if result.ok and not happened[name]:
                found.append(f"{name} is said to have ended well, and had no effect")
            if not result.ok and (result.error is None or result.error.code not in (ErrorCode.WORKER_LOST, *allowed)):
                found.append(f"{name} failed in another way than allowed: {result.error}")
        return found


@contextlib.contextmanager
def effects() -> Iterator[Effects]:
    """The toolset and an empty file, where the user that a worker drops to can write."""
    with tempfile.TemporaryDirectory(prefix="toolmesh-effects-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o711)
        file = folder / "effects"
        file.touch()
        file.chmod(0o666)
        yield Effects(write_toolset(folder / "tools", {"effect": (EFFECT, {})}), file)
