"""What an operator decides about the sandbox of one worker."""

import dataclasses
import enum
import os
from pathlib import Path

from toolmesh_sandbox.ladder import Level


class Mode(enum.StrEnum):
    """How tools are isolated."""

    BWRAP = "bwrap"
    PRLIMIT_ONLY = "prlimit-only"
    DIRECT = "direct"


def default_base() -> Path:
    """The base folder when none is set: outside any home, and one for each uid."""
    return Path(f"/var/tmp/toolmesh-{os.getuid()}")  # noqa: S108 - checked for owner and mode when it is opened


@dataclasses.dataclass(frozen=True, kw_only=True)
class SandboxSettings:
    """Settings of one worker's sandbox.

    Attributes:
        mode: the backend.
        profiles: profiles that are proved to work before the backend is handed out.
        base: folder for workspaces, published trees and locks. Its parents must be open to every uid.
        bwrap: path of a bubblewrap to use; None looks for /usr/bin/bwrap, then the PyPI wheel.
        allow_direct: must be True for `direct`, which isolates nothing.
        first_uid: a root worker runs each call under a uid of its own, counted from here.
        uid_count: how many uids it may use; also the largest number of calls at a time on this machine.
        floor: the lowest level of isolation that is acceptable; the backend refuses to open below it. The modes
            `prlimit-only` and `direct` are asked for by name, so they may go down to what they are.
        hidden: files and folders that no tool may see, whatever its profile: keys, credentials, the data folder.
    """

    mode: Mode = Mode.BWRAP
    profiles: tuple[str, ...] = ("standard",)
    base: Path = dataclasses.field(default_factory=default_base)
    bwrap: Path | None = None
    allow_direct: bool = False
    first_uid: int = 61184
    uid_count: int = 4096
    floor: Level = Level.USER_NAMESPACES_LEFT
    hidden: tuple[Path, ...] = ()
