"""The keeper of one call: starts a command, ends its whole tree, and reports."""

import os
import signal
import sys

import pytest
from tests.support.sandbox_keeper import keep, launch
from tests.support.sandboxes import PYTHON, processes_with

from toolmesh_sandbox import process_tree
from toolmesh_sandbox.limits import Rlimit

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


def test_a_command_is_reported_with_its_status_and_usage() -> None:
    """Exit code, wall and CPU time, memory; nothing was killed."""
    report, printed = keep(launch(["/bin/sh", "-c", "echo hello; exit 3"]))
    assert printed == "hello\n"
    assert os.waitstatus_to_exitcode(report.status or 0) == 3
    assert (report.killed, report.timed_out, report.leftovers, report.error) == (False, False, 0, "")
    assert report.wall_ms >= 1
    assert report.peak_bytes > 0


def test_the_child_gets_limits_directory_priority_and_default_signals() -> None:
    """What Python ignores for itself is not ignored in the command."""
    code = (
        "import os, resource, signal\n"
        "print(os.getcwd(), resource.getrlimit(resource.RLIMIT_NOFILE), os.nice(0), dict(os.environ))\n"
        "line = next(l for l in open('/proc/self/status') if l.startswith('SigBlk'))\n"
        "print(line.split()[1], os.getsid(0) == os.getpid(), sorted(os.listdir('/proc/self/fd')))"
    )
    order = launch([PYTHON, "-c", code], cwd="/usr", nice=7, rlimits=(Rlimit("NOFILE", 40, 40),), env={"LC_ALL": "C"})
    _, printed = keep(order)
    first, second = printed.splitlines()
    assert first.startswith("/usr (40, 40) 7 ")
    assert second == "0000000000000000 True ['0', '1', '2', '3']"


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (launch(["/nowhere/tool"]), "/nowhere/tool: [Errno 2]"),
        (launch(["/bin/true"], cwd="/nowhere"), "[Errno 2]"),
        (launch(["/etc/passwd"]), "[Errno 13]"),
        (launch(["/bin/true"], rlimits=(Rlimit("CPU", 5, 2),)), "current limit exceeds"),
    ],
)
def test_a_command_that_cant_be_executed_is_an_error_and_not_an_exit(order: object, said: str) -> None:
    """Missing file, missing folder, no execute bit, impossible limits."""
    report, _ = keep(order)  # type: ignore[arg-type]
    assert report.status is None
    assert said in report.error


def test_the_wall_clock_ends_it() -> None:
    """Killed and timed out; its status is that of the kill."""
    report, _ = keep(launch(["/bin/sleep", "91.5"], wall_clock_s=0.2))
    assert (report.timed_out, report.killed) == (True, True)
    assert report.status is not None
    assert os.WTERMSIG(report.status) == signal.SIGKILL


@pytest.mark.parametrize("text", ["K\n", ""])
def test_an_order_and_a_closed_socket_both_kill(text: str) -> None:
    """The second is what the death of the worker looks like."""
    report, _ = keep(launch(["/bin/sh", "-c", "setsid sleep 90.5 & sleep 90.5"]), [(0.3, text)])
    assert (report.timed_out, report.killed) == (False, True)
    assert processes_with(b"sleep\x0090.5") == []


def test_a_gentle_order_lets_the_command_end_itself() -> None:
    """SIGTERM to its process group, and no kill if that is enough."""
    code = (
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(4)); print('up', flush=True); time.sleep(60)"
    )
    report, printed = keep(launch([PYTHON, "-c", code]), [(1.0, "T20000\n")])
    assert report.status is not None
    # On a busy machine the order may come before the handler is there.
    assert (printed, os.waitstatus_to_exitcode(report.status)) in {("up\n", 4), ("up\n", -15), ("", -15)}
    assert not report.killed


def test_a_deaf_command_is_killed_after_its_grace() -> None:
    """The grace is in milliseconds."""
    report, _ = keep(launch(["/bin/sh", "-c", "trap '' TERM; sleep 89.5 & wait; sleep 89.5"]), [(0.3, "T200\n")])
    assert report.killed
    assert processes_with(b"sleep\x0089.5") == []


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_everything_of_a_leased_uid_is_killed() -> None:
    """The command runs as that uid, and daemons of it that left its group are ended."""
    code = (
        "import os, time\nprint(os.getresuid(), os.getresgid(), os.getgroups(), flush=True)\n"
        "for _ in range(4):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork(): os._exit(0)\n        time.sleep(88.5)\n"
    )
    report, printed = keep(launch([PYTHON, "-c", code], uid=61200))
    assert printed == "(61200, 61200, 61200) (61200, 61200, 61200) []\n"
    assert report.leftovers == 0
    assert processes_with(b"time.sleep(88.5)") == []


def test_children_are_found_with_and_without_the_kernels_list() -> None:
    """Both ways name the same processes; a process that is gone has none."""
    own = os.getppid()
    assert os.getpid() in process_tree.children(own)
    assert os.getpid() in process_tree._children_by_scan(own)
    assert process_tree.children(1 << 22) == []
    assert process_tree.inner_command(os.getpid()) is None


def test_the_worker_itself_is_never_swept() -> None:
    """No uid 0, and not our own."""
    process_tree.kill_all_of(0)
    process_tree.kill_all_of(os.getuid())
    process_tree.send(1 << 22, signal.SIGKILL)
