"""Runs a server and never lets it outlive the program that asked for it. Started as a script of its own.

    python -I -S guard.py PARENT_PID PROGRAM [ARGUMENT ...]

Standard input is a pipe whose other end only the parent holds: its end, closed or by death, stops the server, by
SIGTERM first and by SIGKILL after a grace period. On Linux the server also dies if this process is killed. Ends with
the server's exit status, or 128 and the number of the signal that killed it. Standard library only, no other import.
"""

import ctypes
import os
import select
import signal
import sys
import time
from typing import Final

_GRACE_S: Final = 5.0
_PARENT_POLL_S: Final = 1.0
_PR_SET_PDEATHSIG: Final = 1
_CANNOT_EXECUTE: Final = 126
_BY_SIGNAL: Final = 128
_MANY_SIGNALS: Final = 64


def main(arguments: list[str]) -> int:
    """Run the server until it ends or has to end; return the exit status."""
    parent = int(arguments[0])
    os.umask(0o077)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    child = _spawn(arguments[1:])
    status = _watch(child, parent, wake_read)
    if status is None:
        status = _stop(child, wake_read)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else _BY_SIGNAL - code


def _spawn(command: list[str]) -> int:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != guard:
                os._exit(_CANNOT_EXECUTE)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.execv(command[0], command)  # noqa: S606 - the server, without a shell
    finally:
        os._exit(_CANNOT_EXECUTE)


def _watch(child: int, parent: int, wake: int) -> int | None:
    """Return the server's wait status when it ends; None when it has to be stopped."""
    while True:
        # The parent's id is looked at too: a process that it forked may still hold the pipe.
        ready, _, _ = select.select([0, wake], [], [], _PARENT_POLL_S)
        signals = os.read(wake, _MANY_SIGNALS) if wake in ready else b""
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if 0 in ready or os.getppid() != parent or any(number != signal.SIGCHLD for number in signals):
            return None


def _stop(child: int, wake: int) -> int:
    os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    while (remaining := deadline - time.monotonic()) > 0:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if select.select([wake], [], [], remaining)[0]:
            os.read(wake, _MANY_SIGNALS)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
