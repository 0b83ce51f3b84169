"""The moment in which bubblewrap has made the namespaces and waits: the first process is known, limits are set.

The limit of processes has to be set inside the new user namespace, where it counts this sandbox alone. The process is
bubblewrap's, still without a tool's byte in it, and everything that the tool starts inherits from it.
"""

import os
import re
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from toolmesh_sandbox import process_tree
from toolmesh_sandbox.limits import Rlimit

_CHILD = re.compile(r'"child-pid"\s*:\s*(\d+)')


class BwrapStart:
    """The first process of a pid namespace, from bubblewrap's status on."""

    def __init__(self, bwrap: int, block: int, rlimits: Sequence[Rlimit], uid: int | None) -> None:
        self._bwrap = bwrap
        self._block = block
        self._rlimits = rlimits
        self._uid = uid
        self._pidfd = -1
        self.text = ""
        self.failure = ""

    def heard(self, data: bytes) -> None:
        """Take a piece of bubblewrap's status; lets the command start once the limits are set."""
        self.text += data.decode("ascii", errors="replace")
        if self._block >= 0 and (found := _CHILD.search(self.text)):
            self._release(int(found[1]))

    def _release(self, first: int) -> None:
        """Set the limits and let the command start, or kill it: at the end of its pipe it would start without them."""
        try:
            self._pidfd = os.pidfd_open(first)
            parent = process_tree.parent(first)
        except OSError:
            parent = 0  # bubblewrap has failed by itself, and says why
        if parent == self._bwrap:
            self.failure = set_limits(first, self._rlimits, self._uid)
        if parent == self._bwrap and not self.failure:
            with suppress(BrokenPipeError):
                os.write(self._block, b"1")
        elif parent in {self._bwrap, os.getpid()}:
            self.kill()
        self.close_block()

    def kill(self) -> bool:
        """Kill the first process, and by that atomically the whole pid namespace; False if that could not be done."""
        if self._pidfd < 0 or sys.platform != "linux":
            return False
        try:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return True

    def close_block(self) -> None:
        """Let go of the pipe on which bubblewrap waits."""
        if self._block >= 0:
            os.close(self._block)
            self._block = -1

    def close(self) -> None:
        """Let go of everything."""
        self.close_block()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1


def set_limits(pid: int, rlimits: Sequence[Rlimit], uid: int | None) -> str:
    """Set the limits of another process; returns why it failed, or nothing.

    Only a process of the same uid may do so, not even root, so a root worker sends a child that has become that uid.
    """
    if uid is None:
        return _set(pid, rlimits)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            os.write(writing, _set(pid, rlimits).encode())
            os.write(writing, b".")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said.removesuffix(".") if said else "the limits could not be set"


def _set(pid: int, rlimits: Sequence[Rlimit]) -> str:
    if sys.platform != "linux":
        return "there are no namespaces on this system"
    for limit in rlimits:
        try:
            resource.prlimit(pid, getattr(resource, f"RLIMIT_{limit.name}"), (limit.soft, limit.hard))
        except ProcessLookupError:
            return ""  # it has ended, for a reason that bubblewrap tells
        except (OSError, ValueError) as error:
            return f"RLIMIT_{limit.name} could not be set: {error}"
    return ""
