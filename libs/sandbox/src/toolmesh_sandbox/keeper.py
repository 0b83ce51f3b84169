"""The keeper of one call: a process that starts the command, ends its whole tree, waits for all of it, and reports.

It is forked for each call from the spawner, which is small, single-threaded and holds no secret. Because the keeper is
the parent and the subreaper of everything that the call starts, "nothing is left" is what `wait` says, and the CPU time
of the tree is the sum of what it waited for. It kills when told, when the wall clock runs out, when the command ends,
and when the worker's end of the control socket closes, which is also how the death of the worker arrives.
"""

import os
import select
import signal
import socket
import sys
import time
from pathlib import Path

from toolmesh_sandbox import process_tree
from toolmesh_sandbox.bwrap_start import BwrapStart
from toolmesh_sandbox.cgroups import CallGroup
from toolmesh_sandbox.disk_watch import DiskWatch
from toolmesh_sandbox.execution import execute
from toolmesh_sandbox.kernel_calls import PR_SET_CHILD_SUBREAPER, prctl
from toolmesh_sandbox.launch import Launch, Report
from toolmesh_sandbox.memory_watch import exceeds
from toolmesh_sandbox.tmpfs_watch import TmpfsWatch

_LINUX = sys.platform.startswith("linux")
_RSS_UNIT = 1024 if _LINUX else 1
_BLOCK_BYTES = 512
_END_WITHIN_S = 10.0
_TERM_RETRY_S = 0.02
_MEMORY_LOOK_S = 0.05


class Keeper:
    """Runs one launch from start to the end of its last process."""

    def __init__(self, control: socket.socket, launch: Launch, descriptors: list[int]) -> None:
        self._control = control
        self._launch = launch
        count = len(descriptors) - 2 if launch.joins else len(descriptors)
        self._descriptors, self._joins = descriptors[:count], descriptors[count:]
        self._group = CallGroup(Path(launch.cgroup), launch.memory_bytes) if launch.cgroup else None
        self._start: BwrapStart | None = None
        self._status = -1
        self._report = Report()
        self._main = 0
        self._main_ended = False
        self._cpu_s = 0.0
        self._term_pending = False
        self._kill_at = float("inf")
        self._look_at = float("inf")
        self._disk = DiskWatch(launch.disk, launch.disk_bytes, launch.disk_files) if launch.disk else None
        self._tmpfs = TmpfsWatch(launch.tmpfs, launch.disk_files, launch.uid)

    def run(self) -> Report:
        """Start, watch, end and wait for the tree. Blocks; needs the main thread, for SIGCHLD."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        old_wake = signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        old_handler = signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        try:
            self._begin()
            if self._main:
                self._watch(wake_read)
                self._report.leftovers = self._end(wake_read)
            self._account()
        finally:
            signal.set_wakeup_fd(old_wake)
            signal.signal(signal.SIGCHLD, old_handler)
            os.close(wake_read)
            os.close(wake_write)
        return self._report

    def _begin(self) -> None:
        """Fork and execute the command."""
        given = list(self._descriptors)
        block = -1
        if self._launch.bwrap:
            self._status, status_write = os.pipe()
            block_read, block = os.pipe()
            given += [status_write, block_read]
            os.set_blocking(self._status, False)
        error_read, error_write = os.pipe()
        self._began = time.monotonic()
        self._main = os.fork()
        if self._main == 0:
            self._control.close()
            execute(self._launch, given, self._joins, self._group, error_write)
        for descriptor in (*given, *self._joins, error_write):
            os.close(descriptor)
        with os.fdopen(error_read, "rb") as pipe:
            self._report.error = pipe.read().decode(errors="replace")
        if self._launch.bwrap:
            self._start = BwrapStart(self._main, block, self._launch.rlimits, self._launch.uid)
        if self._report.error:
            os.waitpid(self._main, 0)
            self._main = 0

    def _watch(self, wake: int) -> None:
        """Return when the command has ended or has to be killed."""
        times_out_at = self._began + self._launch.wall_clock_s
        if self._group is None and self._launch.memory_bytes:
            self._look_at = self._began + _MEMORY_LOOK_S
        poll = select.poll()
        sources = [self._control.fileno(), wake]
        sources += [self._status] if self._start is not None else []
        for source in sources:
            poll.register(source, select.POLLIN)
        self._reap()
        while not self._main_ended:
            now = time.monotonic()
            if now >= min(times_out_at, self._kill_at) or self._over_memory(now) or self._over_disk(now):
                gone_over = self._report.out_of_memory or self._report.out_of_disk
                self._report.timed_out = now >= times_out_at and not gone_over
                self._report.killed = True
                break
            if self._term_pending:
                self._terminate()
            look_at = min(self._look_at, self._tmpfs.look_at)
            look_at = min(look_at, self._disk.look_at) if self._disk is not None else look_at
            wait_s = min(times_out_at, self._kill_at, look_at) - now
            for source, _event in poll.poll(
                max(0, min(wait_s, _TERM_RETRY_S if self._term_pending else 3600)) * 1000 + 1
            ):
                if source == self._control.fileno():
                    self._obey()
                elif source == wake:
                    os.read(wake, 4096)
                elif not self._hear():
                    poll.unregister(source)
            self._reap()
        self._note_end()

    def _hear(self) -> bool:
        """Read bubblewrap's status; False at its end."""
        data = _read_some(self._status)
        if self._start is not None and data:
            self._start.heard(data)
            if self._start.failure and not self._report.killed:
                self._report.error = self._start.failure
                self._kill_at = 0
        return bool(data)

    def _over_memory(self, now: float) -> bool:
        if now < self._look_at:
            return False
        self._look_at = now + _MEMORY_LOOK_S
        in_files = self._tmpfs.held_bytes(self._main)
        self._report.out_of_memory = exceeds(os.getpid(), self._launch.memory_bytes, in_files)
        return self._report.out_of_memory

    def _over_disk(self, now: float) -> bool:
        filled = self._disk is not None and now >= self._disk.look_at and self._disk.exceeded()
        filled = filled or (now >= self._tmpfs.look_at and self._tmpfs.exceeded(self._main))
        self._report.out_of_disk = filled
        return filled

    def _end(self, wake: int) -> int:
        """Kill what is left and wait for all of it; returns how many processes withstood."""
        dying = self._start is not None and self._start.kill()
        return process_tree.end_tree(
            self._main,
            None if dying else self._launch.uid,
            freeze=not self._launch.bwrap,
            reap=self._reap,
            rest=lambda seconds: _rest(wake, seconds),
            within_s=_END_WITHIN_S,
        )

    def _account(self) -> None:
        """Put together what is known once nothing runs any more."""
        self._report.cpu_ms = round(self._cpu_s * 1000)
        self._tmpfs.close()
        if self._start is not None:
            while self._hear():
                pass
            os.close(self._status)
            self._start.close()
            self._report.bwrap_status = self._start.text
        if self._group is not None:
            self._report.out_of_memory = self._group.ran_out()
            self._report.peak_bytes = self._group.peak_bytes() or self._report.peak_bytes
            self._group.remove()

    def _obey(self) -> None:
        """Take an order: `T<ms>` asks the command to end and kills it so much later; anything else kills now."""
        order = self._control.recv(64).decode("ascii", errors="replace")
        if order.startswith("T") and order.endswith("\n"):
            self._term_pending = True
            self._kill_at = time.monotonic() + int(order.splitlines()[0][1:]) / 1000
        else:
            self._kill_at = 0

    def _terminate(self) -> None:
        if not self._launch.bwrap:
            process_tree.send(-self._main, signal.SIGTERM)
            self._term_pending = False
        elif inner := process_tree.inner_command(self._main):
            process_tree.send(inner, signal.SIGTERM)
            self._term_pending = False

    def _reap(self) -> bool:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            self._cpu_s += usage.ru_utime + usage.ru_stime
            self._report.read_bytes += usage.ru_inblock * _BLOCK_BYTES
            self._report.written_bytes += usage.ru_oublock * _BLOCK_BYTES
            if pid == self._main:
                self._main_ended = True
                self._report.status = status
                self._note_end()
            if pid != self._main or not self._launch.bwrap:
                self._report.peak_bytes = max(self._report.peak_bytes, usage.ru_maxrss * _RSS_UNIT)

    def _note_end(self) -> None:
        self._report.wall_ms = self._report.wall_ms or max(1, round((time.monotonic() - self._began) * 1000))


def _rest(wake: int, seconds: float) -> None:
    if select.select([wake], [], [], seconds)[0]:
        os.read(wake, 4096)


def _read_some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except BlockingIOError:
        return b""
