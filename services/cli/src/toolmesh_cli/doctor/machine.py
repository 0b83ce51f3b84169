"""Looks at the machine: Python, kernel, disk."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from toolmesh_cli.doctor.finding import Finding, ok, problem, skipped, warning
from toolmesh_cli.version import versions
from toolmesh_sandbox.settings import default_base

__all__ = ["check_disk", "check_kernel", "check_python", "check_tool_python"]

_OLDEST_PYTHON: Final = (3, 11)
_TOOL_PYTHON: Final = Path("/usr/bin/python3")
_MIB: Final = 1 << 20
_FULL_BYTES: Final = 500 * _MIB
_SHORT_BYTES: Final = 2048 * _MIB
_SYSCTLS: Final[Mapping[str, tuple[str, str]]] = {
    "user/max_user_namespaces": ("0", "sysctl -w user.max_user_namespaces=15000"),
    "kernel/unprivileged_userns_clone": ("0", "sysctl -w kernel.unprivileged_userns_clone=1"),
}
"""Values under which an ordinary user's bubblewrap can't work, and the cure."""
_RESTRICTED: Final = "kernel/apparmor_restrict_unprivileged_userns"


def check_python() -> Finding:
    """Check the Python that runs toolmesh."""
    found = ", ".join(f"{name} {text}" for name, text in versions().items())
    if sys.version_info < _OLDEST_PYTHON:
        wanted = ".".join(map(str, _OLDEST_PYTHON))
        return problem("python", found, f"install Python {wanted} or newer and set toolmesh up with it")
    return ok("python", found)


def check_tool_python(path: Path = _TOOL_PYTHON) -> Finding:
    """Check the interpreter of Python tools whose manifest names none."""
    if os.access(path, os.X_OK):
        return ok("tool-python", f"{path} is {path.resolve()}")
    cure = "install python3, or set `python` in the manifests and `sandbox.python` in the worker's configuration"
    return problem("tool-python", f"{path} is not there: Python tools can't run", cure)


def check_kernel(proc: Path = Path("/proc")) -> Iterator[Finding]:
    """Check what the sandbox needs of the kernel; whether it works in the end, the sandbox's own check tells."""
    release = platform.release()
    if not sys.platform.startswith("linux"):
        yield problem(
            "kernel", f"{sys.platform} has no sandbox for tools", "use Linux, or --allow-unsandboxed for development"
        )
        return
    lacks = [
        (f"{name.replace('/', '.')} is {bad}", cure)
        for name, (bad, cure) in _SYSCTLS.items()
        if os.getuid() != 0 or name.startswith("user/")
        if _read(proc / "sys" / name) == bad
    ]
    if "Seccomp:" not in _read(proc / "self" / "status"):
        lacks.append(("it is built without seccomp", "use a kernel with CONFIG_SECCOMP_FILTER"))
    if not hasattr(os, "pidfd_open"):
        lacks.append(("this Python has no pidfd_open", "use a Python that was built for Linux 5.3 or newer"))
    for text, cure in lacks:
        yield problem("kernel", f"{release}: {text}", cure)
    if not lacks:
        yield ok("kernel", f"Linux {release}: user namespaces, seccomp and pidfds are there")
    if _read(proc / "sys" / _RESTRICTED) == "1" and os.getuid() != 0:
        cure = "only /usr/bin/bwrap has an AppArmor profile: install the package bubblewrap"
        yield warning("apparmor", "AppArmor restricts unprivileged user namespaces", cure)


def check_disk(data_folder: Path) -> Iterator[Finding]:
    """Check the space where the mesh keeps its data, and where calls have their folders."""
    for check, folder in (("disk-data", data_folder), ("disk-work", default_base())):
        place = next((path for path in (folder, *folder.parents) if path.exists()), None)
        if place is None:
            yield skipped(check, f"{folder} is not there")
            continue
        free = shutil.disk_usage(place).free
        detail = f"{folder}: {free // _MIB} MiB free"
        if free < _FULL_BYTES:
            yield problem(
                check, detail, f"free at least {_FULL_BYTES // _MIB} MiB there: calls are refused before it is full"
            )
        elif free < _SHORT_BYTES:
            yield warning(check, detail, "make room before it runs out")
        else:
            yield ok(check, detail)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
