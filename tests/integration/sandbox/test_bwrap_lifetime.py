"""How a sandboxed command ends, and that nothing of it is ever left."""

import asyncio
import os
import signal
import sys
from pathlib import Path, PurePosixPath

import pytest
from tests.support.sandboxes import (
    ENVIRONMENT,
    PYTHON,
    appeared,
    policy_with,
    processes_with,
    run,
    run_as,
    sandbox,
    until,
    vanished,
)

from toolmesh_sandbox.policy import Mount
from toolmesh_sandbox.profiles import profile

_CHECKOUT = Path(__file__).parents[3]


async def test_the_wall_clock_kills_everything_and_keeps_the_output(user: str, base: Path) -> None:
    """A tool that ignores every signal and has children is ended at its time limit; what it printed stays."""
    code = (
        "import os, signal, time\n"
        "for n in range(1, 64):\n"
        "    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "for _ in range(5): os.fork()\n"
        "print('ready', flush=True)\n"
        "time.sleep(77.125)"
    )
    ended = await run_as(user, base, code, wall_clock_s=4)
    assert ended.timed_out, ended
    assert ended.killed
    assert ended.signal == signal.SIGKILL
    assert ended.setup_failed is None
    assert ended.stdout == b"ready\n" * 32
    assert processes_with(b"time.sleep(77.125)") == []


async def test_a_background_child_that_holds_stdout_does_not_delay_the_end(user: str, base: Path) -> None:
    """The daemon of a tool dies with it, at once."""
    code = "import subprocess; subprocess.Popen(['setsid', 'sleep', '98.5']); print('done')"
    ended = await run_as(user, base, code)
    assert ended.code == 0, ended
    assert ended.stdout == b"done\n"
    assert ended.usage.wall_ms < 15_000
    assert processes_with(b"sleep\x0098.5") == []


@pytest.mark.parametrize(
    ("code", "exit_code", "number"),
    [
        ("pass", 0, None),
        ("import sys; sys.exit(3)", 3, None),
        ("import os; os._exit(128)", 128, None),
        ("import os; os.kill(os.getpid(), 11)", None, 11),
        ("import os; os.kill(os.getpid(), 9)", None, 9),
    ],
)
async def test_exit_codes_and_signals_arrive_as_they_were(
    base: Path, code: str, exit_code: int | None, number: int | None
) -> None:
    """A signal is told as a signal, although bubblewrap reports it as 128 + n."""
    async with sandbox(base) as backend:
        ended = await run(backend, code)
    assert (ended.code, ended.signal, ended.killed, ended.setup_failed) == (exit_code, number, False, None)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
async def test_a_tool_that_signals_its_group_has_ended_by_that_signal(user: str, base: Path, number: int) -> None:
    """Bubblewrap is in that group and dies of it as well, which is no failure of the sandbox."""
    ended = await run_as(user, base, f"import os, time; os.kill(0, {int(number)}); time.sleep(30)")
    assert (ended.signal, ended.code, ended.setup_failed) == (number, None, None), ended


async def test_a_setup_failure_never_looks_like_the_tools(base: Path) -> None:
    """A missing executable and a mount that can't be made are set-up failures with bubblewrap's own words."""
    async with sandbox(base) as backend:
        missing = await run(backend, ["/work/no-such-tool"])
        gone = profile("standard").with_mounts(Mount(base / "gone", PurePosixPath("/data")))
        unmounted = await run(backend, "pass", gone)
    assert missing.code is None
    assert "/work/no-such-tool" in (missing.setup_failed or "")
    assert unmounted.code is None
    assert "gone" in (unmounted.setup_failed or "")


async def test_stop_reaches_the_tool_itself_and_gives_it_time(base: Path) -> None:
    """SIGTERM arrives in the tool, which ends on its own terms; it is not counted as killed."""
    code = (
        "import signal, sys, time\n"
        "def leave(*_): print('cleaned up', flush=True); sys.exit(7)\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "open('ready', 'w').close()\n"
        "time.sleep(60)"
    )
    async with (
        sandbox(base) as backend,
        backend.workspaces.new() as workspace,
        backend.start([PYTHON, "-c", code], ENVIRONMENT, profile("standard"), workspace) as process,
    ):
        await until((workspace.host / "ready").exists)
        ended = await process.stop(20)
    assert (ended.code, ended.killed, ended.stdout) == (7, False, b"cleaned up\n")


async def test_stop_kills_what_does_not_listen(base: Path) -> None:
    """After its grace a deaf tool is killed, and that is told."""
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); open('ready', 'w').close(); time.sleep(60)"
    async with (
        sandbox(base) as backend,
        backend.workspaces.new() as workspace,
        backend.start([PYTHON, "-c", code], ENVIRONMENT, profile("standard"), workspace) as process,
    ):
        await until((workspace.host / "ready").exists)
        ended = await process.stop(0.1)
    assert (ended.signal, ended.killed, ended.timed_out) == (9, True, False)


async def test_cancelling_the_caller_kills_and_reaps_before_it_returns(base: Path) -> None:
    """When the cancelled task has ended, no process and no workspace of its call is left."""
    async with sandbox(base) as backend:
        calling = asyncio.create_task(run(backend, ["/bin/sleep", "96.25"], policy_with()))
        await appeared(b"sleep\x0096.25")
        calling.cancel()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert processes_with(b"sleep\x0096.25") == []
        assert _folders(base) == []


async def test_leaving_the_context_without_waiting_kills_the_tool(base: Path) -> None:
    """Whoever forgets to wait leaves nothing behind."""
    async with sandbox(base) as backend, backend.workspaces.new() as workspace:
        async with backend.start(["/bin/sleep", "95.75"], {}, profile("standard"), workspace):
            await appeared(b"sleep\x0095.75")
        assert processes_with(b"sleep\x0095.75") == []


async def test_calls_killed_at_any_moment_of_their_start_leave_nothing(base: Path) -> None:
    """Forty calls, each cut after another short time, many of them while bubblewrap is still building the sandbox."""
    async with sandbox(base) as backend:
        for number in range(40):
            async with (
                backend.workspaces.new() as workspace,
                backend.start(["/bin/sleep", "94.75"], {}, profile("standard"), workspace),
            ):
                await asyncio.sleep(number / 4000)
        assert processes_with(b"94.75") == []
        assert _bubblewraps(base) == []


@pytest.mark.requirement("sandbox:processes")
async def test_a_hundred_calls_leave_no_process_zombie_mount_descriptor_or_folder(base: Path) -> None:
    """Counted before and after, four at a time."""
    async with sandbox(base) as backend:
        await run(backend, ["/usr/bin/true"])
        before = _footprint(base)
        for _ in range(25):
            ends = await asyncio.gather(*(run(backend, ["/usr/bin/true"]) for _ in range(4)))
            assert [ended.code for ended in ends] == [0] * 4
        after = _footprint(base)
    assert after == before
    assert [path.name for path in (base / "run").iterdir()] == []


async def test_killing_the_worker_leaves_no_process_and_the_next_start_clears_its_folders(base: Path) -> None:
    """Kill -9 of a worker in the middle of a call ends the call; its workspace goes when the next worker opens."""
    program = (
        "import asyncio, pathlib, sys\n"
        "from tests.support.sandboxes import run, sandbox\n"
        "async def main():\n"
        "    async with sandbox(pathlib.Path(sys.argv[1])) as backend:\n"
        "        await run(backend, ['/bin/sh', '-c', 'setsid sleep 93.5 & sleep 93.5'])\n"
        "asyncio.run(main())"
    )
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(base), cwd=_CHECKOUT)
    try:
        await appeared(b"sleep\x0093.5")
    finally:
        worker.kill()
        await worker.wait()
    await vanished(b"sleep\x0093.5")
    await vanished(str(base).encode())
    assert len(_folders(base)) == 1
    async with sandbox(base):
        assert _folders(base) == []


async def test_a_killed_spawner_is_replaced(base: Path) -> None:
    """Calls go on when the process that forks them has been killed."""
    async with sandbox(base) as backend:
        backend._spawner._process.kill()
        backend._spawner._process.wait()
        assert (await run(backend, ["/usr/bin/true"])).code == 0


async def test_usage_covers_every_process_of_the_sandbox(base: Path) -> None:
    """CPU time of a grandchild that nobody waited for is counted, and so is the largest process's memory."""
    code = (
        "import subprocess, sys\n"
        "burn = 'import time\\nwhile time.process_time() < 0.5: pass\\nx = bytearray(64 << 20)'\n"
        "subprocess.run([sys.executable, '-c', burn])"
    )
    async with sandbox(base) as backend:
        usage = (await run(backend, code)).usage
    assert usage.cpu_ms >= 500
    assert usage.wall_ms >= 400
    assert usage.peak_memory_bytes > 64 << 20


def _folders(base: Path) -> list[Path]:
    return [path for path in base.glob("run/*/*") if path.is_dir()]


def _bubblewraps(base: Path) -> list[int]:
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/exe")
        if os.path.lexists(path) and str(base) in _target(path)
    ]


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def _footprint(base: Path) -> dict[str, object]:
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return {
        "bubblewraps": len(_bubblewraps(base)),
        "children": children,
        "mounts": Path("/proc/self/mounts").read_text(),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "folders": len(_folders(base)),
        "zombies": sum(_is_own_zombie(_status(path)) for path in Path("/proc").glob("[0-9]*")),
    }


def _is_own_zombie(status: str) -> bool:
    # Only this process can reap its children; a zombie of another process on the machine says nothing of the sandbox.
    return "State:\tZ" in status and f"PPid:\t{os.getpid()}\n" in status


def _status(folder: Path) -> str:
    try:
        return (folder / "status").read_text()
    except OSError:
        return ""
