"""The named policies. The table below is the one place for their numbers."""

from toolmesh_sandbox.errors import PolicyInvalidError
from toolmesh_sandbox.limits import MEBIBYTE, Limits
from toolmesh_sandbox.policy import Network, Policy, SystemView

_KIBIBYTE = 1024


def _limits(*row: int) -> Limits:
    cpu_s, file_mib, open_files, processes, stack_mib, locked_kib, queue_bytes, nice = row
    return Limits(
        cpu_s=cpu_s,
        file_bytes=file_mib * MEBIBYTE,
        open_files=open_files,
        processes=processes,
        stack_bytes=stack_mib * MEBIBYTE,
        locked_bytes=locked_kib * _KIBIBYTE,
        queue_bytes=queue_bytes,
        nice=nice,
    )


#                 CPU s, file MiB, files, processes, stack MiB, locked KiB, queue bytes, nice
LIMITS = {
    "restrictive": _limits(60, 64, 128, 32, 8, 64, 819_200, 15),
    "standard": _limits(300, 256, 512, 128, 16, 256, 819_200, 10),
    "permissive": _limits(600, 1024, 1024, 512, 32, 1024, 1_638_400, 5),
}

PROFILES = {
    "restrictive": Policy(
        profile="restrictive", network=Network.NONE, system=SystemView.SYSTEM, limits=LIMITS["restrictive"]
    ),
    "standard": Policy(profile="standard", network=Network.HOST, system=SystemView.SYSTEM, limits=LIMITS["standard"]),
    "permissive": Policy(
        profile="permissive", network=Network.HOST, system=SystemView.HOST, limits=LIMITS["permissive"]
    ),
}


def profile(name: str) -> Policy:
    """The policy of a profile: `restrictive`, `standard` or `permissive`.

    Raises:
        PolicyInvalidError: no profile has this name.
    """
    try:
        return PROFILES[name]
    except KeyError:
        raise PolicyInvalidError(f"no sandbox profile {name!r}", f"use one of {', '.join(PROFILES)}") from None
