"""Whether a row held, from what came back over the broker and from a look at the host."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

from tests.attacks.meeting import processes_of
from tests.attacks.row_run import Run
from tests.attacks.row_tools import KEPT_CHARACTERS

from toolmesh_contracts.envelopes.values import ArtifactRef
from toolmesh_contracts.errors import ErrorCode

_FOREIGN = (b"root:", b"CANARY", b"print(1)")
_GROWTH_BYTES = 60 << 20
_DAEMON = b"stx_daemon_marker\0"
_RAN = {ErrorCode.TOOL_ERROR, ErrorCode.EXECUTION_ERROR, ErrorCode.SANDBOX_TIMEOUT}
_TIMEOUT_GRACE_S = 1.5
_GONE_S = 2.0
_COLLECTED_S = 2.0


async def verdict(run: Run) -> str:
    """Why the row did not hold, or nothing."""
    if run.met is None or (run.result.error is not None and run.result.error.code not in _RAN):
        return f"it did not run: {run.result.error}"
    if os.getuid() == 0 and 0 in run.met.uids:
        return f"the worker did not drop its user: {sorted(run.met.uids)}"
    if run.row["kind"] == "positive":
        return "" if "OK" in run.stdout and not run.timed_out else "no OK"
    if "ESCAPED" in run.stdout:
        return "escaped"
    check = run.row.get("host_check")
    if check is not None:
        return await CHECKS[check](run)
    if "BLOCKED" in run.stdout or "OK" in run.stdout:
        return ""
    killed = run.result.error is not None and not run.timed_out
    return "" if run.row.get("needs") == "memcap" and killed else "neither BLOCKED nor OK"


async def _canary_alive(run: Run) -> str:
    return "" if _state(run.neighbour) not in "ZX" else "the neighbour was killed"


async def _canary_nice(run: Run) -> str:
    return "" if os.getpriority(os.PRIO_PROCESS, run.neighbour) == 0 else "the neighbour's priority was changed"


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "X"


def _is_daemon(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(_DAEMON)
    except (FileNotFoundError, ProcessLookupError):
        return False


async def _no_daemon(_run: Run) -> str:
    left = [pid for pid in processes_of(_DAEMON) if _is_daemon(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return f"daemons {left} were left" if left else ""


async def _timed_out(run: Run) -> str:
    if not run.timed_out:
        return "not reported as timed out"
    if run.seconds > run.call.timeout_s + _TIMEOUT_GRACE_S:
        return f"back after {run.seconds:.1f} s"
    if left := processes_of(run.call.marker.encode()):
        return f"processes {left} were left"
    # Tools of a manifest return no output beside their result.
    return "" if "ready" in run.stdout or not run.call.declared else "what it printed was lost"


async def _fast_return(run: Run) -> str:
    if run.timed_out or "OK" not in run.stdout:
        return "timed out, or no OK"
    return "" if run.seconds < run.row.get("timeout", 3) else f"back after {run.seconds:.1f} s"


async def _no_leftover(run: Run) -> str:
    deadline = time.monotonic() + _GONE_S
    while left := processes_of(run.call.marker.encode()):
        if time.monotonic() > deadline:
            return f"processes {left} were left"
        await asyncio.sleep(0.05)
    return ""


async def _cpu_killed(run: Run) -> str:
    if run.timed_out:
        return "timed out"
    killed = run.ended_by(signal.SIGXCPU) or run.ended_by(signal.SIGKILL)
    return "" if killed else f"ended with {run.exit_code=}: {run.result.message[-200:]}"


async def _no_late(run: Run) -> str:
    names = [ref.filename for ref in (*run.result.artifacts, *run.later)]
    return f"{names} appeared" if names else ""


async def _trunc(run: Run) -> str:
    if len(run.stdout) != KEPT_CHARACTERS or run.dropped <= 0:
        return f"kept {len(run.stdout)}, dropped {run.dropped}"
    return "" if run.grown_bytes < _GROWTH_BYTES else f"the worker grew by {run.grown_bytes} bytes"


async def _bytes_ok(run: Run) -> str:
    return "" if "ok" in run.stdout else "the bytes did not arrive"


async def _midway(run: Run) -> str:
    return run.midway


async def _collect(run: Run) -> str:
    for ref in run.result.artifacts:
        head = await _first_bytes(run, ref)
        if any(foreign in head for foreign in _FOREIGN):
            return f"{ref.filename} holds what is not the tool's"
    wall_s = run.result.usage.wall_ms / 1000 if run.result.usage is not None else 0.0
    took_s = run.seconds - wall_s
    return "" if took_s < _COLLECTED_S else f"collecting took {took_s:.1f} s"


async def _first_bytes(run: Run, ref: ArtifactRef) -> bytes:
    async with aclosing(run.place.client.open_artifact(ref)) as chunks:  # type: ignore[type-var]
        return (await anext(chunks, b""))[:100]


async def _rc139(run: Run) -> str:
    return "" if run.ended_by(signal.SIGSEGV) else "the crash was not told"


async def _next_call(run: Run) -> str:
    left = [name for name in ("made", "x") if (run.place.stage.secret.parent / name).exists()]
    return f"{left} were made on the host" if left else ""


async def _elsewhere(_run: Run) -> str:
    raise AssertionError("this check is made with a worker of its own")


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
BY_A_CLOCK = {
    *("timed_out", "fast_return", "collect", "trunc", "pipe_size", "inotify_ok", "no_leftover", "cpu_killed"),
    "no_late",
}
"""Checks of time, memory or a quota, which a busy machine can spoil: there a late file may come before the end."""
