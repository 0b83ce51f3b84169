"""A workspace and its outbox in memory: two file systems with a size and a number of files.

They are mounted in a user and mount namespace that no process lives in. The worker holds its descriptors: to start
bubblewrap there, for one call or for all calls of a turn, and to read what was left without any path of the host. When
it closes them the kernel drops everything at once, however many or deep the files are, also when the worker is killed.
"""

import dataclasses
import json
import os
import socket
from typing import Any

from toolmesh_sandbox.kernel_calls import (
    CLONE_NEWNS,
    CLONE_NEWUSER,
    MS_NODEV,
    MS_NOSUID,
    MS_REC,
    MS_SLAVE,
    PR_SET_DUMPABLE,
    mount,
    prctl,
    unshare,
)

WORK, OUTBOX = "work", "outbox"
"""Names of the two mount points below `MemoryOrder.folder`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MemoryOrder:
    """What to mount.

    Attributes:
        folder: folder of the host with the mount points `work` and `outbox`.
        uid: whose it is; None means the worker's own uid.
        size: bytes of each.
        files: files and folders in each.
    """

    folder: str
    uid: int | None
    size: int
    files: int

    def encode(self) -> bytes:
        """JSON bytes."""
        return json.dumps(dataclasses.asdict(self)).encode("ascii")

    @classmethod
    def decode(cls, data: bytes) -> "MemoryOrder":
        """The reverse of `encode`."""
        fields: dict[str, Any] = json.loads(data)
        return cls(**fields)


def furnish(order: MemoryOrder) -> list[int]:
    """Move this process into new namespaces with both mounts.

    Returns:
        Descriptors of the user namespace, the mount namespace, the workspace and the outbox.

    Raises:
        OSError: a user namespace or a mount was refused.
    """
    if order.uid is not None:
        os.setgroups([])
        os.setresgid(order.uid, order.uid, order.uid)
        os.setresuid(order.uid, order.uid, order.uid)
        prctl(PR_SET_DUMPABLE, 1)  # or /proc/self would stay root's, and the maps could not be written
    uid, gid = os.getuid(), os.getgid()
    unshare(CLONE_NEWUSER | CLONE_NEWNS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - pathlib costs more to import than all of this
            file.write(text)
    mount("none", "/", "none", MS_REC | MS_SLAVE, "")
    options = f"size={order.size},nr_inodes={order.files},mode=0700"
    for name in (WORK, OUTBOX):
        mount("tmpfs", f"{order.folder}/{name}", "tmpfs", MS_NOSUID | MS_NODEV, options)
    namespaces = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in ("user", "mnt")]
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    return namespaces + [os.open(f"{order.folder}/{name}", flags) for name in (WORK, OUTBOX)]


def answer(control: socket.socket, order: MemoryOrder) -> None:
    """Furnish and send the descriptors, or the reason why there are none."""
    try:
        descriptors = furnish(order)
    except OSError as error:
        control.sendall(f"{error}".encode())
        return
    socket.send_fds(control, [b"ok"], descriptors)
