"""What happens between fork and exec of a command: everything that it gets and loses."""

import fcntl
import os
import resource
import signal
from contextlib import suppress
from typing import NoReturn

from toolmesh_sandbox.cgroups import CallGroup
from toolmesh_sandbox.kernel_calls import (
    CLONE_NEWNS,
    CLONE_NEWUSER,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    load_filter,
    prctl,
    setns,
)
from toolmesh_sandbox.landlock import keep_from_abstract_sockets, keep_writes_below
from toolmesh_sandbox.launch import Launch

_OUT_OF_THE_WAY = 100
_RESET = ("PIPE", "XFSZ", "INT", "TERM", "HUP", "QUIT", "CHLD")
_KILLED_FIRST = "1000"


def execute(launch: Launch, descriptors: list[int], joins: list[int], group: CallGroup | None, error: int) -> NoReturn:
    """Become the command. Tells a failure on `error`, which exec closes.

    Args:
        launch: what to become.
        descriptors: those that become 0, 1, 2, ...
        joins: a user and a mount namespace to enter, or nothing.
        group: the call's cgroup.
        error: descriptor for the reason why there was no exec.
    """
    keeper = os.getppid()
    try:
        os.setsid()
        for name in _RESET:
            signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.umask(0o022)
        error = fcntl.fcntl(error, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
        joins = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY) for descriptor in joins]
        moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY) for descriptor in descriptors]
        for target, source in enumerate(moved):
            os.dup2(source, target)
        _take_a_back_seat(launch.nice)
        if group is not None:
            group.enter()
        _change_identity(launch, joins)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == keeper:
            os.execvpe(launch.program, launch.argv, launch.env)  # noqa: S606
    except (OSError, ValueError) as failure:
        os.write(error, f"{launch.program}: {failure}".encode(errors="replace"))
    finally:
        os._exit(127)


def _take_a_back_seat(nice: int) -> None:
    """Be run after the worker, and be killed before it when the machine is out of memory."""
    priority = max(nice, os.getpriority(os.PRIO_PROCESS, 0))
    os.setpriority(os.PRIO_PROCESS, 0, priority)
    # A session has a scheduling group of its own, whose priority is this one (sched(7), autogroup).
    for name, text in (("autogroup", str(priority)), ("oom_score_adj", _KILLED_FIRST)):
        with suppress(OSError):
            descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(descriptor, text.encode())
            finally:
                os.close(descriptor)


def _change_identity(launch: Launch, joins: list[int]) -> None:
    if launch.uid is not None:
        os.setgroups([])
        os.setresgid(launch.uid, launch.uid, launch.uid)
        os.setresuid(launch.uid, launch.uid, launch.uid)
    for descriptor, kind in zip(joins, (CLONE_NEWUSER, CLONE_NEWNS), strict=False):
        setns(descriptor, kind)
    os.chdir(launch.cwd)
    if launch.scoped:
        keep_from_abstract_sockets()
    if launch.bwrap:
        return  # it does the rest itself: no_new_privs would keep AppArmor from giving /usr/bin/bwrap its profile
    for limit in launch.rlimits:
        resource.setrlimit(getattr(resource, f"RLIMIT_{limit.name}"), (limit.soft, limit.hard))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if launch.writable:
        keep_writes_below(launch.writable)
    if launch.filter:
        load_filter(bytes.fromhex(launch.filter))
