"""What bubblewrap's error messages mean, and what the machine or container lacks."""

from typing import NamedTuple

from toolmesh_sandbox.errors import SandboxUnavailableError
from toolmesh_sandbox.ladder import Level


class _Lack(NamedTuple):
    text: str
    missing: str
    cure: str


_LACKS = (
    _Lack(
        "No permissions to create",
        "user namespaces (seccomp profile of the container, or kernel.unprivileged_userns_clone)",
        "use a Localhost seccomp profile that is RuntimeDefault plus clone, unshare, setns, mount, umount2, pivot_root",
    ),
    _Lack(
        "Creating new namespace failed: Operation not permitted",
        "user namespaces (seccomp profile of the container)",
        "use a Localhost seccomp profile that is RuntimeDefault plus clone, unshare, setns, mount, umount2, pivot_root",
    ),
    _Lack(
        "Creating new namespace failed: Resource temporarily unavailable",
        "room under RLIMIT_NPROC for the worker's user",
        "raise the limit of processes for the worker's user",
    ),
    _Lack(
        "max_*_namespaces exceeded",
        "user namespaces (sysctl user.max_user_namespaces is 0 or used up)",
        "raise user.max_user_namespaces, and don't start the worker inside a sandbox that disables them",
    ),
    _Lack(
        "Can't mount proc",
        "a fresh /proc (the container's /proc is masked)",
        "set procMount: Unmasked with hostUsers: false, or docker's --security-opt systempaths=unconfined",
    ),
    _Lack(
        "max_user_namespaces: ",
        "a writable /proc/sys (the option --disable-userns needs it)",
        "set procMount: Unmasked with hostUsers: false",
    ),
    _Lack(
        "Failed to make / slave",
        "permission to mount (AppArmor or SELinux profile of the container)",
        "set appArmorProfile: Unconfined, or load a profile that allows mount and pivot_root",
    ),
    _Lack(
        "setting up uid map",
        "unprivileged user namespaces (kernel.apparmor_restrict_unprivileged_userns)",
        "load AppArmor's bwrap-userns-restrict profile for this bwrap, or set the sysctl to 0",
    ),
    _Lack(
        "RTM_NEWADDR",
        "unprivileged user namespaces (kernel.apparmor_restrict_unprivileged_userns)",
        "load AppArmor's bwrap-userns-restrict profile for this bwrap, or set the sysctl to 0",
    ),
    _Lack("Can't find source path", "a file or folder that the sandbox has to show", "make it reachable for every uid"),
    _Lack("execvp /usr/bin/python3", "/usr/bin/python3, which runs the self-test", "install python3"),
    _Lack("execvp /usr/bin/env", "/usr/bin/env of coreutils", "install coreutils"),
    _Lack("prctl(PR_SET_SECCOMP)", "seccomp filters (CONFIG_SECCOMP_FILTER)", "use a kernel with seccomp filters"),
    _Lack(
        "a workspace in memory", "user namespaces with tmpfs mounts", "allow user namespaces for the worker's Python"
    ),
    _Lack(
        "[Errno 1] Operation not permitted",
        "CAP_SETUID and CAP_SETGID, which a worker that is root needs to run tools under another uid",
        "run the worker as an ordinary user, or give it SETUID, SETGID, CHOWN, DAC_OVERRIDE and KILL",
    ),
    _Lack(
        "[Errno 22] Invalid argument",
        "the uids for tools (the container's user namespace does not map them)",
        "set uid_base and uid_count inside the map of /proc/self/uid_map, or run the worker as an ordinary user",
    ),
    _Lack(
        "Permission denied", "permission to execute bwrap as the tool's uid", "put bwrap where every uid can reach it"
    ),
)


_PROC_MASKED = "Can't mount proc"
_NO_DISABLING = "max_user_namespaces: "


def next_level(level: Level, text: str) -> Level | None:
    """The next step down the ladder at which what bubblewrap said would not matter, or None if there is none."""
    if level < Level.USER_NAMESPACES_LEFT and _NO_DISABLING in text:
        return Level.USER_NAMESPACES_LEFT
    if level < Level.NO_PROC and _PROC_MASKED in text:
        return Level.NO_PROC
    return None


def explain(profile: str, text: str) -> SandboxUnavailableError:
    """The error for a failed probe of a profile, with the missing kernel or container option by name."""
    for lack in _LACKS:
        if lack.text in text:
            return SandboxUnavailableError(
                f"the sandbox can't start profile {profile!r}: {lack.missing} is missing; it said: {text}",
                f"{lack.cure}, or run with --allow-unsandboxed on a machine that holds no secrets",
                lack.missing,
            )
    return SandboxUnavailableError(
        f"the sandbox can't start profile {profile!r}: {text or 'no reason given'}",
        "run `bwrap --unshare-user --ro-bind / / true` by hand as the worker's user",
        "unknown",
    )
