"""The backends without namespaces: what they still promise, and what they refuse."""

import logging
import os
from pathlib import Path, PurePosixPath

import pytest
from tests.support.sandboxes import policy_with, processes_with, run, run_as, sandbox

from toolmesh_sandbox.errors import PolicyRefusedError
from toolmesh_sandbox.landlock import version
from toolmesh_sandbox.policy import Mount
from toolmesh_sandbox.profiles import profile

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")
MODES = ["prlimit-only", "direct"]


@pytest.mark.parametrize("mode", MODES)
async def test_the_environment_is_clean(user: str, base: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the given variables, and no new privileges."""
    monkeypatch.setenv("WORKER_SECRET", "canary-of-the-worker")
    code = "import os; print(sorted(os.environ)); print('NoNewPrivs:\\t1' in open('/proc/self/status').read())"
    ended = await run_as(user, base, code, mode=mode)
    assert ended.stdout.decode() == "['LANG', 'PATH']\nTrue\n", ended


@needs_root
@pytest.mark.parametrize("mode", MODES)
async def test_a_root_worker_drops_to_a_leased_uid(base: Path, mode: str) -> None:
    """The tool is not root, owns its workspace, and can't read what is root's."""
    code = (
        "import os\n"
        "print(os.getuid() == os.geteuid() == os.getgid() == os.stat('.').st_uid >= 61184, os.getgroups())\n"
        "for p in ('/etc/shadow', f'/proc/{os.getppid()}/environ', '/root/.profile'):\n"
        "    try: open(p).read(); print('read', p)\n"
        "    except OSError: pass"
    )
    ended = await run_as("root", base, code, mode=mode)
    assert ended.stdout.decode() == "True []\n", ended


@pytest.mark.parametrize("mode", MODES)
async def test_daemons_of_the_tool_are_killed_with_it(user: str, base: Path, mode: str) -> None:
    """Children in sessions of their own, also double-forked ones that ignore signals, are gone at the end."""
    code = (
        "import os, subprocess, sys\n"
        "deaf = 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(92.5)'\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        subprocess.Popen([sys.executable, '-c', deaf])\n"
        "        os._exit(0)\n"
        "print('done')"
    )
    ended = await run_as(user, base, code, mode=mode)
    assert (ended.code, ended.stdout) == (0, b"done\n"), ended
    assert processes_with(b"time.sleep(92.5)") == []


@pytest.mark.parametrize("mode", MODES)
async def test_the_wall_clock_and_the_caps_hold(base: Path, mode: str) -> None:
    """Time-out, kept head and dropped count work as under bwrap."""
    async with sandbox(base, mode) as backend:
        slow = await run(
            backend, "import time; print('ready', flush=True); time.sleep(60)", policy_with(wall_clock_s=3)
        )
        loud = await run(backend, "print('x' * 5000, end='')", policy_with(caps=100))
    assert (slow.timed_out, slow.signal, slow.stdout) == (True, 9, b"ready\n")
    assert (len(loud.stdout), loud.stdout_dropped, loud.code) == (100, 4900, 0)


async def test_prlimit_only_sets_the_limits(user: str, base: Path) -> None:
    """The policy's numbers are the tool's hard limits."""
    code = "import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE), r.getrlimit(r.RLIMIT_FSIZE), r.getrlimit(r.RLIMIT_CORE))"
    ended = await run_as(user, base, code, mode="prlimit-only", max_open_files=50, max_file_size_mb=2)
    assert ended.stdout.decode() == "(50, 50) (2097152, 2097152) (1, 1)\n", ended


async def test_prlimit_only_refuses_a_policy_without_network(base: Path) -> None:
    """It can't close the network, so it neither opens for such a profile nor runs one."""
    async with sandbox(base, "prlimit-only") as backend:
        with pytest.raises(PolicyRefusedError, match="no network"):
            await run(backend, "pass", profile("restrictive"))
    with pytest.raises(PolicyRefusedError, match="restrictive"):
        async with sandbox(base, "prlimit-only", ["restrictive"]):
            pass


async def test_direct_warns_and_names_host_paths(base: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Opening it is logged as a warning; paths inside are the host's."""
    mount = Mount(base, PurePosixPath("/data"))
    with caplog.at_level(logging.WARNING):
        async with sandbox(base, "direct", ["restrictive"]) as backend, backend.workspaces.new() as workspace:
            assert str(backend.inside(workspace)) == str(workspace.host)
            assert backend.path_inside(mount) == PurePosixPath(base)
    assert "tools can read and reach what their user can" in caplog.text


@pytest.mark.parametrize("mode", MODES)
async def test_a_missing_executable_is_a_setup_failure(base: Path, mode: str) -> None:
    """Not an exit code 127 of the tool."""
    async with sandbox(base, mode) as backend:
        ended = await run(backend, ["/nowhere/tool"])
    assert ended.code is None
    assert "/nowhere/tool" in (ended.setup_failed or "")


async def test_landlock_keeps_the_tool_of_prlimit_only_from_the_workers_files_and_processes(
    user: str, base: Path
) -> None:
    """Though both have one uid: only the workspace and /tmp can be changed, and nobody signalled."""
    if version() < 6:
        pytest.skip("needs Landlock 6 (Linux 6.12)")
    code = (
        "import os, signal, tempfile\n"
        "open('mine', 'w').write('x'); os.rename('mine', 'output/mine'); os.unlink('output/mine')\n"
        "open('/dev/null', 'w').write('x')\n"
        "tempfile.TemporaryFile(dir='/tmp').close()\n"
        "for act in (lambda: open('../../planted', 'w'), lambda: os.rename('output', '../planted'),\n"
        "            lambda: os.kill(os.getppid(), 0)):\n"
        "    try: act(); print('done')\n"
        "    except OSError: pass\n"
        "print('kept')"
    )
    ended = await run_as(user, base, code, mode="prlimit-only")
    assert ended.stdout == b"kept\n", ended
