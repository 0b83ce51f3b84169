"""Whether a row held, from what came out of the sandbox and from a look at the host."""

import asyncio
import ctypes
import fcntl
import os
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.rows import Row

from toolmesh_sandbox.outputs import collect
from toolmesh_sandbox.process import Exit
from toolmesh_sandbox.workspaces import Workspace

CAP_BYTES = 1 << 20
_FOREIGN = (b"root:", b"CANARY", b"print(1)")
_GROWTH_BYTES = 60 << 20
_DAEMON = b"stx_daemon_marker\0"


@dataclass(kw_only=True)
class Run:
    """One row's run, while its workspace is still there."""

    row: Row
    ended: Exit
    seconds: float
    timeout_s: float
    code: str
    workspace: Workspace
    host_pid: int
    secret: Path
    grown_bytes: int
    midway: str

    @property
    def stdout(self) -> str:
        """What was kept of it, as text."""
        return self.ended.stdout.decode(errors="replace")


async def verdict(run: Run) -> str:
    """Why the row did not hold, or nothing."""
    if run.ended.setup_failed is not None:
        return f"the sandbox did not start: {run.ended.setup_failed}"
    if run.row["kind"] == "positive":
        return "" if "OK" in run.stdout and not run.ended.timed_out else "no OK"
    if "ESCAPED" in run.stdout:
        return "escaped"
    check = run.row.get("host_check")
    if check is not None:
        return await CHECKS[check](run)
    if "BLOCKED" in run.stdout or "OK" in run.stdout:
        return ""
    killed = run.ended.code != 0
    return "" if run.row.get("needs") == "memcap" and killed else "neither BLOCKED nor OK"


def processes_of(text: bytes) -> list[int]:
    """Host pids of processes, bubblewrap included, that have this text in their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if text in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def resident_bytes() -> int:
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def look_midway(check: str | None) -> str:
    """What the worker finds 0.45 s into a call that holds a quota of its user."""
    if check == "pipe_size":
        reading, writing = os.pipe()
        try:
            size = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
        finally:
            os.close(reading)
            os.close(writing)
        return "" if size == 65536 else f"a pipe of the worker holds {size} bytes"
    if check == "inotify_ok":
        descriptor = ctypes.CDLL(None, use_errno=True).inotify_init1(os.O_CLOEXEC)
        if descriptor < 0:
            return "the worker can't watch files any more"
        os.close(descriptor)
    return ""


async def _canary_alive(run: Run) -> str:
    return "" if _state(run.host_pid) not in "ZX" else "the neighbour was killed"


async def _canary_nice(run: Run) -> str:
    return "" if os.getpriority(os.PRIO_PROCESS, run.host_pid) == 0 else "the neighbour's priority was changed"


def _is_daemon(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(_DAEMON)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "X"


async def _no_daemon(_run: Run) -> str:
    left = [pid for pid in processes_of(_DAEMON) if _is_daemon(pid)]
    for pid in left:
        os.kill(pid, 9)
    return f"daemons {left} were left" if left else ""


async def _timed_out(run: Run) -> str:
    if not run.ended.timed_out:
        return "not reported as timed out"
    if run.seconds > run.timeout_s + 1.5:
        return f"back after {run.seconds:.1f} s"
    return _nothing_left(run) or ("" if "ready" in run.stdout else "what it printed was lost")


def _nothing_left(run: Run) -> str:
    left = processes_of(run.code.encode())
    return f"processes {left} were left" if left else ""


async def _fast_return(run: Run) -> str:
    if run.ended.timed_out or "OK" not in run.stdout:
        return "timed out, or no OK"
    return "" if run.seconds < (run.row.get("timeout") or 3) else f"back after {run.seconds:.1f} s"


async def _no_leftover(run: Run) -> str:
    return _nothing_left(run)


async def _cpu_killed(run: Run) -> str:
    killed = run.ended.signal in {24, 9} and not run.ended.timed_out
    return "" if killed else f"ended with {run.ended.code=} {run.ended.signal=} {run.ended.timed_out=}"


async def _no_late(run: Run) -> str:
    await asyncio.sleep(0.6)
    with collect(run.workspace.outbox) as collected:
        return f"{[file.name for file in collected.files]} appeared" if collected.files else ""


async def _trunc(run: Run) -> str:
    if len(run.ended.stdout) != CAP_BYTES or run.ended.stdout_dropped <= 0:
        return f"kept {len(run.ended.stdout)}, dropped {run.ended.stdout_dropped}"
    return "" if run.grown_bytes < _GROWTH_BYTES else f"the worker grew by {run.grown_bytes} bytes"


async def _bytes_ok(run: Run) -> str:
    return "" if b"ok" in run.ended.stdout else "the bytes did not arrive"


async def _midway(run: Run) -> str:
    return run.midway


async def _collect(run: Run) -> str:
    began = time.monotonic()
    with collect(run.workspace.outbox) as collected:
        for file in collected.files:
            with file.open() as reader:
                head = reader.read(100)
            if any(foreign in head for foreign in _FOREIGN):
                return f"{file.name} holds what is not the tool's"
    return "" if time.monotonic() - began < 2 else "collecting took too long"


async def _rc139(run: Run) -> str:
    return "" if run.ended.signal == 11 else "the crash was not told"


async def _next_call(run: Run) -> str:
    left = [name for name in ("made", "x") if (run.secret.parent / name).exists()]
    return f"{left} were made on the host" if left else ""


async def _elsewhere(_run: Run) -> str:
    raise AssertionError("this check is made by the runner, in a worker of its own")


CHECKS: dict[str, Callable[[Run], Awaitable[str]]] = {
    "canary_alive": _canary_alive,
    "canary_nice0": _canary_nice,
    "no_daemon": _no_daemon,
    "timed_out": _timed_out,
    "fast_return": _fast_return,
    "no_leftover": _no_leftover,
    "cpu_killed": _cpu_killed,
    "dies_with_worker": _elsewhere,
    "no_late": _no_late,
    "trunc": _trunc,
    "bytes_ok": _bytes_ok,
    "pipe_size": _midway,
    "inotify_ok": _midway,
    "collect": _collect,
    "rc139": _rc139,
    "next_call": _next_call,
}
ALONE = re.compile("timed_out|fast_return|trunc|pipe_size|inotify_ok|no_leftover|dies_with_worker|no_late|cpu_killed")
"""Checks of time, memory or a quota, which neighbours would disturb."""
