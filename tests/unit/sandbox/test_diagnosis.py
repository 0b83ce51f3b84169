"""Each known message of bubblewrap names what is missing and the cure."""

import pytest

from toolmesh_sandbox.diagnosis import explain, next_level
from toolmesh_sandbox.ladder import Level


@pytest.mark.parametrize(
    ("said", "missing", "cure"),
    [
        ("bwrap: No permissions to create new namespace, likely because", "user namespaces", "Localhost seccomp"),
        ("bwrap: Creating new namespace failed: Operation not permitted", "user namespaces", "unshare"),
        ("bwrap: Creating new namespace failed: Resource temporarily unavailable", "RLIMIT_NPROC", "raise"),
        ("nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)", "max_user_namespaces", "raise"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "fresh /proc", "procMount: Unmasked"),
        ("cannot open /proc/sys/user/max_user_namespaces: Read-only file system", "/proc/sys", "hostUsers: false"),
        ("bwrap: Failed to make / slave: Permission denied", "permission to mount", "appArmorProfile"),
        ("bwrap: setting up uid map: Permission denied", "apparmor", "bwrap-userns-restrict"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "apparmor", "bwrap-userns-restrict"),
        ("bwrap: Can't find source path /usr: No such file", "file or folder", "reachable"),
        ("bwrap: execvp /usr/bin/python3: No such file or directory", "self-test", "install python3"),
        ("/root/x/bwrap: [Errno 13] Permission denied", "execute bwrap", "every uid"),
        ("/bwrap: [Errno 1] Operation not permitted", "CAP_SETUID", "ordinary user"),
        ("/bwrap: [Errno 22] Invalid argument", "the uids for tools", "uid_map"),
        ("something new", "unknown", "by hand"),
        ("", "unknown", "by hand"),
    ],
)
def test_a_message_becomes_what_is_missing_and_what_to_do(said: str, missing: str, cure: str) -> None:
    """The error also names the profile and repeats what was said."""
    error = explain("restrictive", said)
    assert missing in error.missing
    assert cure in error.hint
    assert "'restrictive'" in error.message
    assert said in error.message


@pytest.mark.parametrize(
    ("level", "said", "next_one"),
    [
        (
            Level.FULL,
            "cannot open /proc/sys/user/max_user_namespaces: Read-only file system",
            Level.USER_NAMESPACES_LEFT,
        ),
        (Level.USER_NAMESPACES_LEFT, "cannot open /proc/sys/user/max_user_namespaces: Read-only file system", None),
        (Level.FULL, "bwrap: Can't mount proc on /newroot/proc: Operation not permitted", Level.NO_PROC),
        (Level.NO_PROC, "bwrap: Can't mount proc on /newroot/proc: Operation not permitted", None),
        (Level.FULL, "bwrap: No permissions to create new namespace", None),
    ],
)
def test_the_next_step_of_the_ladder_is_the_one_that_avoids_what_failed(
    level: Level, said: str, next_one: Level | None
) -> None:
    """And there is none for a failure that no step avoids."""
    assert next_level(level, said) == next_one
