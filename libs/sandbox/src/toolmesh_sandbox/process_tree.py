"""Find and end every process below one process. Runs in a keeper, so the standard library only."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_FREEZE_ROUNDS = 20


def children(pid: int) -> list[int]:
    """Processes whose parent is `pid`, as the kernel lists them now; empty where there is no /proc."""
    found: list[int] = []
    try:
        for task in (_PROC / str(pid) / "task").iterdir():
            found.extend(int(child) for child in (task / "children").read_text().split())
    except FileNotFoundError:
        return _children_by_scan(pid) if (_PROC / str(pid)).exists() else []
    except (ProcessLookupError, PermissionError):
        return []
    return found


def parent(pid: int) -> int:
    """The parent of a process.

    Raises:
        FileNotFoundError: there is no such process.
        ProcessLookupError: it is just ending.
    """
    return int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])


def _children_by_scan(pid: int) -> list[int]:
    """The same on kernels without CONFIG_PROC_CHILDREN."""
    found = []
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                if parent(int(entry.name)) == pid:
                    found.append(int(entry.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def descendants(pid: int) -> Iterator[int]:
    """Every process below `pid`, parents before their children."""
    waiting = children(pid)
    seen: set[int] = set()
    while waiting:
        child = waiting.pop()
        if child not in seen:
            seen.add(child)
            yield child
            waiting.extend(children(child))


def inner_command(bwrap: int) -> int | None:
    """The host pid of the command that a bwrap runs: pid 2 of its namespace, or None while there is none."""
    for init in children(bwrap):
        for child in children(init):
            try:
                status = (_PROC / str(child) / "status").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            numbers = next((line for line in status.splitlines() if line.startswith("NSpid:")), "")
            if numbers.split()[-1:] == ["2"]:
                return child
    return None


def send(pid: int, number: int) -> None:
    """Signal a process, or with a negative number its group, that may be gone or no longer ours to signal."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def end_tree(
    group: int,
    uid: int | None,
    *,
    freeze: bool,
    reap: Callable[[], bool],
    rest: Callable[[float], None],
    within_s: float,
) -> int:
    """Kill everything below this process until nothing is left to wait for.

    Args:
        group: process group of the command, a second net.
        uid: a uid that only this call uses; all its processes are killed. None when there is no such uid. With a pid
            namespace this comes second: it is for a root worker that lacks CAP_KILL.
        freeze: stop all before any is killed, so that what forks meanwhile can't run away. Not needed where the kernel
            ends a whole pid namespace with its first process.
        reap: waits for what has ended, without blocking; True when no child is left.
        rest: sleeps so many seconds, or until a child ends.
        within_s: give up after so many seconds.

    Returns:
        How many processes could not be ended.
    """
    deadline = time.monotonic() + within_s
    pause = 0.001
    first = True
    while not reap():
        if time.monotonic() > deadline:
            return len(list(descendants(os.getpid())))
        if freeze:
            _freeze()
        for pid in descendants(os.getpid()):
            send(pid, signal.SIGKILL)
        send(-group, signal.SIGKILL)
        if uid is not None and (freeze or not first):
            kill_all_of(uid)
        first = False
        rest(pause)
        pause = min(pause * 2, 0.05)
    return 0


def _freeze() -> None:
    stopped: set[int] = set()
    for _ in range(_FREEZE_ROUNDS):
        new = set(descendants(os.getpid())) - stopped
        if not new:
            return
        for pid in new:
            send(pid, signal.SIGSTOP)
        stopped |= new


def kill_all_of(uid: int) -> None:
    """Kill every process of a uid at once, from a child that has become that uid and holds no capability."""
    if not sys.platform.startswith("linux") or uid in {0, os.getuid()}:
        return
    killer = os.fork()
    if killer == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            # kill(-1) reaches whatever may be signalled: never with a capability left (SECBIT_NO_SETUID_FIXUP).
            if "CapEff:\t0000000000000000" in (_PROC / "self" / "status").read_text():
                os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(killer, 0)
