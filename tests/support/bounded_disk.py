"""A disk of one test's own that can be filled: a file system in memory of a fixed size."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.made_by import made_by_this_process, maker_is_gone

_MEBIBYTE = 1024 * 1024
_BLOCK = bytes(64 * 1024)
_COMMAND_S = 10.0


@dataclass(frozen=True)
class BoundedDisk:
    """A mounted file system."""

    folder: Path

    @property
    def free_bytes(self) -> int:
        """What may still be written."""
        disk = os.statvfs(self.folder)
        return disk.f_frsize * disk.f_bfree

    def fill(self) -> None:
        """Write until nothing more fits."""
        with contextlib.suppress(OSError), self._filler.open("ab", buffering=0) as stream:
            while stream.write(_BLOCK):
                pass

    def free(self) -> None:
        """Take away what `fill` wrote."""
        self._filler.unlink(missing_ok=True)

    @property
    def _filler(self) -> Path:
        return self.folder / "filler"


def _sweep() -> None:
    """Unmount what tests that were killed have left, which would keep its memory."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, folder = line.split()[:2]
        if maker_is_gone(source):
            # Not checked: another test may sweep, too.
            subprocess.run(["umount", "--lazy", folder], capture_output=True, timeout=_COMMAND_S, check=False)


@contextlib.contextmanager
def bounded_disk(folder: Path, mebibytes: int = 64) -> Iterator[BoundedDisk]:
    """A disk mounted at `folder`, which is made; unmounted at the end, whoever still uses it.

    Raises:
        AssertionError: this process may not mount, so the test can't tell anything.
    """
    assert os.geteuid() == 0, "this test mounts a small file system: run it as root"
    _sweep()
    folder.mkdir(parents=True)
    size = f"size={mebibytes * _MEBIBYTE},mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, made_by_this_process(), folder], check=True, timeout=_COMMAND_S)
    try:
        yield BoundedDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True, timeout=_COMMAND_S)
