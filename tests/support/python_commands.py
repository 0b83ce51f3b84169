"""Commands that run a module of this checkout with the packages of this process, as this user or as another."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PLAIN_PYTHON = "/usr/bin/python3"


def module_command(module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """Return a command like `python -m MODULE ARGUMENTS`, for any interpreter of this version and any user."""
    packages = [path for path in sys.path if path.endswith("site-packages")]
    start = (
        f"import runpy, site, sys; [site.addsitedir(path) for path in {packages!r}]; "
        f"sys.path.insert(0, {str(ROOT)!r}); runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    )
    return [python, "-B", "-S", "-c", start, *arguments]


def open_to_all(path: Path) -> bool:
    """Whether every user can pass through a folder, and to it."""
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


@dataclass(frozen=True)
class OtherUser:
    """A user without rights, with a home of its own."""

    uid: int
    home: Path

    def copy(self, file: Path) -> Path:
        """Copy a file to where the user can read it."""
        copied = self.home / file.name
        shutil.copyfile(file, copied)
        copied.chmod(0o644)
        return copied

    def run(self, module: str, *arguments: str, timeout_s: float = 170) -> int:
        """Run a module of this checkout to its end, its output on this process's; return its exit code."""
        own = Path(sys.executable).resolve()
        python = str(own) if open_to_all(own) else _PLAIN_PYTHON
        ended = subprocess.run(
            module_command(module, *arguments, python=python),
            user=self.uid,
            group=self.uid,
            extra_groups=[],
            cwd="/",
            env={"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
            check=False,
            timeout=timeout_s,
        )
        return ended.returncode


@contextlib.contextmanager
def other_user(uid: int) -> Iterator[OtherUser]:
    """The user of this id, for a process that is root."""
    with tempfile.TemporaryDirectory(prefix="toolmesh-home-", dir="/var/tmp") as home:
        os.chown(home, uid, uid)
        yield OtherUser(uid, Path(home))
