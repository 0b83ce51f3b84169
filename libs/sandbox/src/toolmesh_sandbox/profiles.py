"""The named policies, and the one table of their numbers that code, schema and documentation share."""

from typing import NamedTuple

from toolmesh_sandbox.errors import PolicyInvalidError
from toolmesh_sandbox.limits import MEBIBYTE, Limits
from toolmesh_sandbox.policy import DATA_INSIDE, Network, Policy, Storage, SystemView

_KIBIBYTE = 1024


class Row(NamedTuple):
    """The numbers of one profile, each in the unit that people read."""

    cpu_seconds: int
    file_mib: int
    open_files: int
    processes: int
    stack_mib: int
    locked_kib: int
    queue_bytes: int
    memory_mib: int
    data_mib: int
    disk_mib: int
    shared_mib: int
    disk_files: int
    workspace_mib: int
    nice: int

    def limits(self) -> Limits:
        """The same in the kernel's units."""
        return Limits(
            cpu_s=self.cpu_seconds,
            file_bytes=self.file_mib * MEBIBYTE,
            open_files=self.open_files,
            processes=self.processes,
            stack_bytes=self.stack_mib * MEBIBYTE,
            locked_bytes=self.locked_kib * _KIBIBYTE,
            queue_bytes=self.queue_bytes,
            memory_bytes=self.memory_mib * MEBIBYTE,
            data_bytes=self.data_mib * MEBIBYTE,
            disk_bytes=self.disk_mib * MEBIBYTE,
            shared_bytes=self.shared_mib * MEBIBYTE,
            disk_files=self.disk_files,
            workspace_bytes=self.workspace_mib * MEBIBYTE,
            nice=self.nice,
        )


#                      CPU  file  open  proc stack lock  queue      memory data  disk  shm  files    space  nice
TABLE = {
    "declared": Row(120, 64, 4096, 128, 8, 64, 0, 1024, 1024, 128, 0, 10_000, 128, 15),
    "restrictive": Row(60, 64, 128, 32, 8, 64, 819_200, 512, 1024, 64, 128, 16_384, 256, 15),
    "standard": Row(300, 256, 512, 128, 16, 256, 819_200, 1024, 4096, 64, 256, 65_536, 1024, 10),
    "permissive": Row(600, 1024, 1024, 512, 32, 1024, 1_638_400, 4096, 16_384, 64, 1024, 262_144, 4096, 5),
}

PROFILES = {
    "declared": Policy(
        profile="declared",
        network=Network.NONE,
        system=SystemView.SYSTEM,
        limits=TABLE["declared"].limits(),
        storage=Storage.MEMORY,
        sessions=False,
        shared_memory=False,
        tmp=False,
        exact_environment=True,
        folder=DATA_INSIDE,
    ),
    "restrictive": Policy(
        profile="restrictive", network=Network.NONE, system=SystemView.SYSTEM, limits=TABLE["restrictive"].limits()
    ),
    "standard": Policy(
        profile="standard", network=Network.HOST, system=SystemView.SYSTEM, limits=TABLE["standard"].limits()
    ),
    "permissive": Policy(
        profile="permissive", network=Network.HOST, system=SystemView.HOST, limits=TABLE["permissive"].limits()
    ),
}


def profile(name: str) -> Policy:
    """The policy of a profile: `declared`, `restrictive`, `standard` or `permissive`.

    `declared` is the contract of declared tools, and no name for a manifest. It starts in /data, which the caller has
    to mount, and takes a workspace with an outbox from `Backend.workspace`.

    Raises:
        PolicyInvalidError: no profile has this name.
    """
    try:
        return PROFILES[name]
    except KeyError:
        raise PolicyInvalidError(f"no sandbox profile {name!r}", f"use one of {', '.join(PROFILES)}") from None
