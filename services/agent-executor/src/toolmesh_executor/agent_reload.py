"""Notices that agent files have changed, and reads them again."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from toolmesh_executor.agent_files import AgentFiles
from toolmesh_executor.running_agents import ReadAgents, read_agents

__all__ = ["AgentReload"]

_POLL_S: Final = 1.0

Stamp = tuple[tuple[str, int, int, int, int], ...]
"""Name, times, size and identity of each file."""


class AgentReload:
    """Looks at the files each second; a change is read once they have been quiet for as long.

    Make it before the files are read for the first time, so that no change falls in between.

    Args:
        files: What is read.
    """

    def __init__(self, files: AgentFiles) -> None:
        self._files = files
        self._seen = self._stamp()
        self._read = self._digest()
        self._quiet = True

    async def follow(self, on_read: Callable[[ReadAgents], None]) -> None:
        """Hand out each reading of changed files; for ever."""
        while True:
            await asyncio.sleep(_POLL_S)
            read = await asyncio.to_thread(self.look)
            if read is not None:
                on_read(read)

    def look(self) -> ReadAgents | None:
        """Look once; return a reading if there is a change, and the last look has seen the files as they are now."""
        stamp = self._stamp()
        if stamp != self._seen:
            # Perhaps it is still being written: it is read when it is the same the next time.
            self._seen, self._quiet = stamp, False
            return None
        if self._quiet:
            return None
        self._quiet = True
        digest = self._digest()
        if digest == self._read:
            return None
        self._read = digest
        return read_agents(self._files.load())

    def _stamp(self) -> Stamp:
        return tuple(_stamps(self._files.watched()))

    def _digest(self) -> bytes:
        digest = hashlib.sha256()
        for path in self._files.watched():
            try:
                content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            except OSError as error:
                content = str(error.errno)
            digest.update(f"{path}\0{content}\0".encode(errors="replace"))
        return digest.digest()


def _stamps(paths: Iterable[Path]) -> Iterable[tuple[str, int, int, int, int]]:
    for path in paths:
        try:
            found = path.stat()
        except OSError:
            yield str(path), 0, 0, 0, 0
        else:
            # A copy may keep the time, and a file moved into another's place the size, too.
            yield str(path), found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
