"""Keeping children running, with real processes."""

import asyncio
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolmesh_cli.child_process import ChildProgram
from toolmesh_cli.failures import CommandFailedError, describe
from toolmesh_cli.supervisor import supervise
from toolmesh_cli.terminal import Terminal

_READY = (
    "import json,sys,time,os,signal; print(json.dumps({'level':'info','event':'ready','health_port':1}), flush=True);"
)
_DEADLINE_S = 15.0


def _program(folder: Path, code: str, name: str = "worker-1") -> ChildProgram:
    return ChildProgram(name, (sys.executable, "-c", code), {"PATH": os.defpath}, folder / f"{name}.log")


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(_DEADLINE_S):
        while not condition():
            await asyncio.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_child_that_dies_is_started_again(tmp_path: Path) -> None:
    """A killed child is replaced by a new process, and a person is told."""
    shown = io.StringIO()
    async with supervise([_program(tmp_path, _READY + "time.sleep(60)")], Terminal(shown, {})) as (worker,):
        await asyncio.wait_for(worker.ready.wait(), _DEADLINE_S)
        first = worker.pid
        assert first is not None
        os.kill(first, 9)
        await _until(lambda: worker.pid not in {None, first} and worker.ready.is_set())

    assert "worker-1 ended (killed by SIGKILL)" in shown.getvalue()


async def test_a_child_that_never_starts_ends_everything_with_its_last_lines(tmp_path: Path) -> None:
    """After three tries the reason is shown, with the child's exit code and the log's place."""
    code = "import sys; print('cannot bind', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ExceptionGroup) as caught:
        async with supervise([_program(tmp_path, code)], Terminal(io.StringIO(), {})) as (worker,):
            await asyncio.wait_for(worker.ready.wait(), _DEADLINE_S)

    failure = describe(caught.value)
    assert failure is not None
    assert failure.exit_code == 3
    assert "cannot bind" in failure.message
    assert str(tmp_path / "worker-1.log") in failure.hint
    assert (tmp_path / "worker-1.log").read_text().count("cannot bind") == 3


async def test_a_configuration_error_is_not_tried_again(tmp_path: Path) -> None:
    """Exit code 2 means that another try can't help."""
    with pytest.raises(ExceptionGroup) as caught:
        async with supervise([_program(tmp_path, "print('bad'); exit(2)")], Terminal(io.StringIO(), {})) as (worker,):
            await asyncio.wait_for(worker.ready.wait(), _DEADLINE_S)

    error = caught.value.exceptions[0]
    assert isinstance(error, CommandFailedError)
    assert error.exit_code == 2
    assert (tmp_path / "worker-1.log").read_text().count("bad") == 1


async def test_a_childs_own_error_is_passed_on(tmp_path: Path) -> None:
    """Its code and message, not its log; for a missing sandbox with the way around it."""
    code = "print('error [SANDBOX_UNAVAILABLE]: user namespaces are off'); exit(2)"
    with pytest.raises(ExceptionGroup) as caught:
        async with supervise([_program(tmp_path, code)], Terminal(io.StringIO(), {})) as (worker,):
            await asyncio.wait_for(worker.ready.wait(), _DEADLINE_S)

    failure = describe(caught.value)
    assert failure is not None
    assert (failure.code, failure.exit_code) == ("SANDBOX_UNAVAILABLE", 2)
    assert failure.message == "worker-1 can't start: user namespaces are off"
    assert "--allow-unsandboxed" in failure.hint


async def test_stop_waits_for_a_child_that_drains(tmp_path: Path) -> None:
    """SIGTERM first, and time to finish; nothing is started again."""
    code = "import os,signal,sys; signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'drained\\n'), sys.exit(0)));"
    async with supervise([_program(tmp_path, code + _READY + "time.sleep(60)")], Terminal(io.StringIO(), {})) as (one,):
        await asyncio.wait_for(one.ready.wait(), _DEADLINE_S)
        assert await one.stop(grace_s=_DEADLINE_S)

    assert (tmp_path / "worker-1.log").read_text().endswith("drained\n")


async def test_a_child_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    """A deaf child can't keep the mesh from ending."""
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + _READY + "time.sleep(60)"
    async with supervise([_program(tmp_path, code)], Terminal(io.StringIO(), {})) as (one,):
        await asyncio.wait_for(one.ready.wait(), _DEADLINE_S)
        pid = one.pid
        assert not await one.stop(grace_s=0.2)

    assert pid is not None
    assert not _runs(pid)


async def test_no_child_outlives_an_error_in_the_block(tmp_path: Path) -> None:
    """Leaving by an exception kills what runs."""
    pids: list[int | None] = []

    async def fail_while_it_runs() -> None:
        async with supervise([_program(tmp_path, _READY + "time.sleep(60)")], Terminal(io.StringIO(), {})) as (one,):
            await asyncio.wait_for(one.ready.wait(), _DEADLINE_S)
            pids.append(one.pid)
            raise ValueError("a fault of the caller")

    with pytest.raises(ExceptionGroup):
        await fail_while_it_runs()

    assert pids[0] is not None
    assert not _runs(pids[0])


async def test_children_die_with_a_killed_parent(tmp_path: Path) -> None:
    """SIGKILL of the process that supervises leaves no orphan."""
    parent_code = f"""
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from toolmesh_cli.child_process import ChildProgram
from toolmesh_cli.supervisor import supervise
from toolmesh_cli.terminal import Terminal

async def main():
    program = ChildProgram("c", (sys.executable, "-c", {_READY + "time.sleep(60)"!r}), {{}}, Path({str(tmp_path)!r}) / "c.log")
    async with supervise([program], Terminal.stderr()) as (child,):
        await child.ready.wait()
        print(child.pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", parent_code, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    async with asyncio.timeout(_DEADLINE_S):
        child = int(await parent.stdout.readline())
    parent.kill()
    await parent.wait()

    await _until(lambda: not _runs(child))
