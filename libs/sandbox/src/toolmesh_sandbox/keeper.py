"""The keeper of one call: a process that starts the command, ends its whole tree, waits for all of it, and reports.

It is forked for each call from the spawner, which is small, single-threaded and holds no secret. Because the keeper is
the parent and the subreaper of everything that the call starts, "nothing is left" is what `wait` says, and the CPU time
of the tree is the sum of what it waited for. It kills when told, when the wall clock runs out, when the command ends,
and when the worker's end of the control socket closes, which is also how the death of the worker arrives.
"""

import ctypes
import fcntl
import os
import resource
import select
import signal
import socket
import sys
import time
from typing import NoReturn

from toolmesh_sandbox import process_tree
from toolmesh_sandbox.launch import FIRST_FILE, Launch, Report

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_LINUX = sys.platform.startswith("linux")
_RSS_UNIT = 1024 if _LINUX else 1
_END_WITHIN_S = 10.0
_TERM_RETRY_S = 0.02
_OUT_OF_THE_WAY = 100
_RESET = ("PIPE", "XFSZ", "INT", "TERM", "HUP", "QUIT", "CHLD")


class Keeper:
    """Runs one launch from start to the end of its last process."""

    def __init__(self, control: socket.socket, launch: Launch, descriptors: list[int]) -> None:
        self._control = control
        self._launch = launch
        self._descriptors = descriptors
        self._report = Report()
        self._main = 0
        self._main_ended = False
        self._cpu_s = 0.0
        self._term_pending = False
        self._kill_at = float("inf")

    def run(self) -> Report:
        """Start, watch, end and wait for the tree. Blocks; needs the main thread, for SIGCHLD."""
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        old_wake = signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        old_handler = signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        try:
            status_read = self._start()
            if self._main:
                self._watch(wake_read)
                self._report.leftovers = process_tree.end_tree(
                    self._main,
                    self._launch.uid,
                    freeze=not self._launch.bwrap,
                    reap=self._reap,
                    rest=lambda seconds: _rest(wake_read, seconds),
                    within_s=_END_WITHIN_S,
                )
            self._report.bwrap_status = _drain(status_read)
        finally:
            signal.set_wakeup_fd(old_wake)
            signal.signal(signal.SIGCHLD, old_handler)
            os.close(wake_read)
            os.close(wake_write)
        self._report.cpu_ms = round(self._cpu_s * 1000)
        return self._report

    def _start(self) -> int:
        """Fork and execute the command; returns the reading end of bwrap's status pipe."""
        status_read, status_write = os.pipe()
        error_read, error_write = os.pipe()
        self._began = time.monotonic()
        self._main = os.fork()
        if self._main == 0:
            self._control.close()
            execute(self._launch, [*self._descriptors, status_write], error_write)
        for descriptor in (*self._descriptors, status_write, error_write):
            os.close(descriptor)
        with os.fdopen(error_read, "rb") as pipe:
            self._report.error = pipe.read().decode(errors="replace")
        if self._report.error:
            os.waitpid(self._main, 0)
            self._main = 0
        os.set_blocking(status_read, False)
        return status_read

    def _watch(self, wake: int) -> None:
        """Return when the command has ended or has to be killed."""
        times_out_at = self._began + self._launch.wall_clock_s
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(wake, select.POLLIN)
        self._reap()
        while not self._main_ended:
            now = time.monotonic()
            if now >= min(times_out_at, self._kill_at):
                self._report.timed_out = now >= times_out_at
                self._report.killed = True
                break
            if self._term_pending:
                self._terminate()
            wait_s = min(times_out_at, self._kill_at) - now
            events = poll.poll(min(wait_s, _TERM_RETRY_S if self._term_pending else 3600) * 1000 + 1)
            if any(descriptor == self._control.fileno() for descriptor, _ in events):
                self._obey()
            if any(descriptor == wake for descriptor, _ in events):
                os.read(wake, 4096)
            self._reap()
        self._note_end()

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
            if pid == self._main:
                self._main_ended = True
                self._report.status = status
                self._note_end()
            if pid != self._main or not self._launch.bwrap:
                self._report.peak_bytes = max(self._report.peak_bytes, usage.ru_maxrss * _RSS_UNIT)

    def _note_end(self) -> None:
        self._report.wall_ms = self._report.wall_ms or max(1, round((time.monotonic() - self._began) * 1000))


def execute(launch: Launch, descriptors: list[int], error: int) -> NoReturn:
    """Become the command: the part between fork and exec. Tells a failure on `error`, which exec closes."""
    keeper = os.getppid()
    try:
        os.setsid()
        for name in _RESET:
            signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.umask(0o022)
        error = fcntl.fcntl(error, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
        moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY) for descriptor in descriptors]
        for target, source in enumerate(moved):
            if target < FIRST_FILE + launch.files + launch.bwrap:
                os.dup2(source, target)
        os.setpriority(os.PRIO_PROCESS, 0, max(launch.nice, os.getpriority(os.PRIO_PROCESS, 0)))
        if launch.uid is not None:
            os.setgroups([])
            os.setresgid(launch.uid, launch.uid, launch.uid)
            os.setresuid(launch.uid, launch.uid, launch.uid)
        os.chdir(launch.cwd)
        for limit in launch.rlimits:
            resource.setrlimit(getattr(resource, f"RLIMIT_{limit.name}"), (limit.soft, limit.hard))
        if not launch.bwrap:
            # Not for bwrap, which does it itself: it would keep AppArmor from giving /usr/bin/bwrap its profile.
            prctl(_PR_SET_NO_NEW_PRIVS, 1)
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == keeper:
            os.execvpe(launch.program, launch.argv, launch.env)  # noqa: S606
    except (OSError, ValueError) as failure:
        os.write(error, f"{launch.program}: {failure}".encode(errors="replace"))
    finally:
        os._exit(127)


def prctl(option: int, value: int) -> None:
    """Set one attribute of this process, with the system call of that name; does nothing where there is none.

    Raises:
        OSError: the kernel refused it.
    """
    if _LINUX and ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _rest(wake: int, seconds: float) -> None:
    if select.select([wake], [], [], seconds)[0]:
        os.read(wake, 4096)


def _drain(descriptor: int) -> str:
    try:
        return os.read(descriptor, 65536).decode("ascii", errors="replace")
    except BlockingIOError:
        return ""
    finally:
        os.close(descriptor)
