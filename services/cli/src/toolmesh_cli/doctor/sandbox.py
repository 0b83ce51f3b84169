"""Looks at the sandbox: which bubblewrap, and whether each profile really starts here."""

import gzip
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolmesh_cli.doctor.finding import Finding, ok, problem, warning
from toolmesh_sandbox.base_folder import open_base
from toolmesh_sandbox.bwrap_binary import SYSTEM_BWRAP, find_bwrap
from toolmesh_sandbox.errors import SandboxError
from toolmesh_sandbox.opening import open_backend
from toolmesh_sandbox.profiles import PROFILES
from toolmesh_sandbox.settings import SandboxSettings

__all__ = ["check_bwrap", "check_profiles", "is_vulnerable"]

_FIXED: Final = (0, 12)
_CVE: Final = "CVE-2026-87766"
_VERSION: Final = re.compile(r"(\d+)\.(\d+)")
_ANSWER_S: Final = 5.0
_CHANGES: Final = "/usr/share/doc/bubblewrap/changelog.Debian.gz"


def check_bwrap(settings: SandboxSettings | None = None) -> Finding:
    """Say which bubblewrap a worker takes, and whether its version has a known hole."""
    settings = settings or SandboxSettings()
    try:
        program = find_bwrap(settings.bwrap, open_base(settings.base))
    except SandboxError as error:
        return problem("bwrap", error.message, error.hint)
    version = _version(program)
    if not version:
        return problem("bwrap", f"{program} does not say its version", "install the package bubblewrap anew")
    detail = f"{program} {version}"
    if is_vulnerable(version, _changes(program)):
        detail += f" has {_CVE}: it follows links in paths that a tool can write"
        if program != SYSTEM_BWRAP and settings.bwrap is None:
            # The one that comes with toolmesh: nobody could follow an advice to replace it.
            return ok("bwrap", f"{detail}; no harm here, as toolmesh mounts nothing in such paths")
        return warning("bwrap", detail, "install bubblewrap 0.12 or newer; toolmesh mounts nothing there meanwhile")
    return ok("bwrap", detail)


def is_vulnerable(version: str, changes: str) -> bool:
    """Tell whether a version has the hole; `changes` is what its package says it mends."""
    match = _VERSION.search(version)
    return match is not None and (int(match[1]), int(match[2])) < _FIXED and _CVE not in changes


async def check_profiles(settings: SandboxSettings | None = None) -> list[Finding]:
    """Start a command under each profile."""
    settings = settings or SandboxSettings()
    try:
        async with open_backend(replace(settings, profiles=tuple(PROFILES))):
            return [_works(name) for name in PROFILES]
    except SandboxError:
        return [await _check_profile(settings, name) for name in PROFILES]


async def _check_profile(settings: SandboxSettings, name: str) -> Finding:
    try:
        async with open_backend(replace(settings, profiles=(name,))):
            return _works(name)
    except SandboxError as error:
        return problem(f"sandbox-{name}", error.message, error.hint)


def _works(name: str) -> Finding:
    return ok(f"sandbox-{name}", "a command starts under this profile")


def _version(program: Path) -> str:
    try:
        ran = subprocess.run(  # noqa: S603 - the program that workers start
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_ANSWER_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return ran.stdout.decode(errors="replace").strip().removeprefix("bubblewrap ")


def _changes(program: Path) -> str:
    """Return the changelog of the distribution's package, which tells of backports."""
    if program != SYSTEM_BWRAP:
        return ""
    try:
        with gzip.open(_CHANGES) as file:
            return file.read(1 << 20).decode(errors="replace")
    except (OSError, EOFError):
        return ""
