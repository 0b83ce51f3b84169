"""A running sandboxed command, as the worker sees it: wait for its end, ask it to stop, or have it killed."""

import asyncio
import contextlib
import dataclasses
import logging
import os
import re
import signal
import socket
from collections.abc import AsyncIterator, Sequence

from toolmesh_sandbox.launch import Launch, Report
from toolmesh_sandbox.pipes import Capture, feed
from toolmesh_sandbox.policy import Policy
from toolmesh_sandbox.spawner_client import Spawner

_log = logging.getLogger(__name__)
_DRAIN_S = 0.3
_SETUP_TEXT = 2000
_SIGNAL_BASE = 128


@dataclasses.dataclass(frozen=True, kw_only=True)
class Usage:
    """What a call used.

    Attributes:
        wall_ms: from the start of the sandbox to the end of the command.
        cpu_ms: user and system time of the sandbox's whole process tree, bubblewrap's own included.
        peak_memory_bytes: most memory at a time of the whole sandbox, where it had a memory cgroup. Otherwise resident
            size of the largest process of the tree; the backends without bubblewrap then count from about 10 MiB, the
            size of the process that forks the command.
        read_bytes: read from block devices, not from the page cache.
        written_bytes: written to block devices.
    """

    wall_ms: int
    cpu_ms: int
    peak_memory_bytes: int
    read_bytes: int = 0
    written_bytes: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exit:
    """How a command ended. Exactly one of `code`, `signal` and `setup_failed` is set; a killed one has signal 9.

    Attributes:
        code: exit code of the command.
        signal: number of the signal that ended it. Under bwrap, exit codes above 128 are read as signals.
        timed_out: the policy's wall clock ran out; `killed` is then true as well.
        killed: the sandbox was killed before the command had ended.
        setup_failed: the sandbox or the executable could not be started; the text says why. Not the tool's failure.
        stdout: first bytes of standard output, up to the policy's cap.
        stdout_dropped: number of bytes after these.
        stdout_dropped_characters: the characters in them, as UTF-8; one that the cap divides is among them.
        stderr: first bytes of standard error, up to the policy's cap.
        stderr_dropped: number of bytes after these.
        usage: time, memory, input and output.
        out_of_memory: it went over the policy's memory; what was killed for it may have been a part of it only.
        out_of_disk: it was killed because it filled its workspace beyond the policy's limit.
    """

    code: int | None
    signal: int | None
    timed_out: bool
    killed: bool
    setup_failed: str | None
    stdout: bytes
    stdout_dropped: int
    stderr: bytes
    stderr_dropped: int
    usage: Usage
    out_of_memory: bool = False
    stdout_dropped_characters: int = 0
    out_of_disk: bool = False


class SandboxProcess:
    """A started command. Its whole process tree is gone once `wait` has returned or its context is left."""

    def __init__(self, control: socket.socket, finished: "asyncio.Task[Exit]") -> None:
        self._control = control
        self._finished = finished

    async def wait(self) -> Exit:
        """How it ended, once every process of the sandbox is gone. Cancelling the wait does not end the command."""
        return await asyncio.shield(self._finished)

    async def stop(self, grace_s: float) -> Exit:
        """Send SIGTERM to the command, kill everything if it is still there after `grace_s` seconds, and wait."""
        self._order(f"T{max(0, round(grace_s * 1000))}\n")
        return await self.wait()

    def kill(self) -> None:
        """Have the whole tree killed, without waiting."""
        self._order("K\n")

    def _order(self, text: str) -> None:
        if not self._finished.done():
            with contextlib.suppress(OSError):  # the keeper has ended; its report is on the way
                self._control.send(text.encode("ascii"))


@contextlib.asynccontextmanager
async def run(
    spawner: Spawner,
    launch: Launch,
    files: tuple[bytes, ...],
    policy: Policy,
    stdin: bytes,
    joins: Sequence[int] = (),
    connection: int | None = None,
) -> AsyncIterator[SandboxProcess]:
    """Start a launch; leaving the context, also by cancellation, kills the tree and waits until it is gone."""
    outer: list[int] = []
    inner: list[int] = []
    try:
        _make_pipes(outer, inner, with_input=bool(stdin))
        control = spawner.spawn(launch, inner if connection is None else [*inner, connection], files, joins)
    except BaseException:
        for descriptor in outer:
            os.close(descriptor)
        raise
    finally:
        for descriptor in inner:
            os.close(descriptor)
    with control:
        finished = asyncio.create_task(_finish(control, outer, launch, policy, stdin), name="sandbox")
        process = SandboxProcess(control, finished)
        try:
            yield process
        finally:
            process.kill()
            await _completed(finished)


def _make_pipes(outer: list[int], inner: list[int], *, with_input: bool) -> None:
    """Make stdout, stderr and stdin; `outer` gets our ends in this order, `inner` the command's as 0, 1, 2."""
    for _ in ("stdout", "stderr"):
        reading, writing = os.pipe()
        outer.append(reading)
        inner.append(writing)
    if with_input:
        reading, writing = os.pipe()
        outer.append(writing)
    else:
        reading = os.open(os.devnull, os.O_RDONLY)
    inner.insert(0, reading)
    for descriptor in outer:
        os.set_blocking(descriptor, False)


async def _finish(control: socket.socket, descriptors: list[int], launch: Launch, policy: Policy, stdin: bytes) -> Exit:
    stdout, stderr = Capture(policy.stdout_bytes), Capture(policy.stderr_bytes)
    async with asyncio.TaskGroup() as group:
        streams = {
            group.create_task(stdout.read(descriptors[0])),
            group.create_task(stderr.read(descriptors[1])),
        }
        if stdin:
            streams.add(group.create_task(feed(descriptors[2], stdin)))
        report = await _report(control)
        # All writers are dead; what they wrote is in the pipes. Only an unkillable process could hold one open.
        _done, unfinished = await asyncio.wait(streams, timeout=_DRAIN_S)
        for stream in unfinished:
            stream.cancel()
    if report.leftovers:
        _log.error("%d processes of a sandbox could not be killed", report.leftovers)
    return outcome(report, launch, stdout, stderr)


async def _report(control: socket.socket) -> Report:
    loop = asyncio.get_running_loop()
    received = bytearray()
    # The kernel resets a connection that is closed while an order in it is unread; what was sent before still arrives.
    with contextlib.suppress(ConnectionResetError):
        while data := await loop.sock_recv(control, 65536):
            received += data
    if not received:
        return Report(error="the process that keeps the sandbox ended without a report")
    return Report.decode(bytes(received))


async def _completed(task: "asyncio.Task[Exit]") -> None:
    """Wait for a task that is sure to end soon, whatever cancels us meanwhile."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()


def outcome(report: Report, launch: Launch, stdout: Capture, stderr: Capture) -> Exit:
    """What a keeper's report means for the command."""
    code: int | None = None
    number: int | None = None
    setup_failed: str | None = None
    if report.error:
        setup_failed = report.error
    elif report.killed:
        number = signal.SIGKILL
    elif launch.bwrap:
        code, number, setup_failed = _bwrap_ending(report, stderr)
        if code is not None and _SIGNAL_BASE < code < _SIGNAL_BASE + signal.NSIG:
            number, code = code - _SIGNAL_BASE, None
    elif report.status is None:
        setup_failed = "the command ended without a status"
    elif os.WIFSIGNALED(report.status):
        number = os.WTERMSIG(report.status)
    else:
        code = os.waitstatus_to_exitcode(report.status)
    return Exit(
        code=code,
        signal=number,
        timed_out=report.timed_out,
        killed=report.killed,
        setup_failed=setup_failed,
        stdout=stdout.kept,
        stdout_dropped=stdout.dropped,
        stderr=stderr.kept,
        stderr_dropped=stderr.dropped,
        usage=Usage(
            wall_ms=report.wall_ms,
            cpu_ms=report.cpu_ms,
            peak_memory_bytes=report.peak_bytes,
            read_bytes=report.read_bytes,
            written_bytes=report.written_bytes,
        ),
        out_of_memory=report.out_of_memory,
        out_of_disk=report.out_of_disk,
        stdout_dropped_characters=stdout.dropped_characters,
    )


def _bwrap_ending(report: Report, stderr: Capture) -> tuple[int | None, int | None, str | None]:
    """Exit code of the command, or the signal that ended all of it, or what kept it from running.

    Bubblewrap states an exit code, on a descriptor that the command does not have, for what it has executed and for
    nothing else. So what a tool prints or returns can't pass for a failure of the sandbox, nor the other way round.
    """
    found = re.search(r'"exit-code"\s*:\s*(\d+)', report.bwrap_status)
    if found is not None:
        return int(found[1]), None, None
    if report.status is not None and os.WIFSIGNALED(report.status) and '"child-pid"' in report.bwrap_status:
        return None, os.WTERMSIG(report.status), None  # the command has signalled its process group, bubblewrap's too
    if report.out_of_memory:
        return None, signal.SIGKILL, None  # the kernel chose bubblewrap, which has no say, to pay for the command
    text = stderr.kept[-_SETUP_TEXT:].decode(errors="replace").strip()
    return None, None, text or f"bwrap ended with wait status {report.status}"
