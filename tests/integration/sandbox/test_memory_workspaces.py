"""Workspaces in memory: sized, counted, kept for a turn, collected without a path, gone without a trace."""

import os
from pathlib import Path, PurePosixPath

import pytest
from tests.support.sandboxes import ENVIRONMENT, PYTHON, policy_with, run_as, sandbox

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.errors import PolicyInvalidError
from toolmesh_sandbox.outputs import collect
from toolmesh_sandbox.policy import Mount, Policy
from toolmesh_sandbox.process import Exit
from toolmesh_sandbox.workspaces import Workspace


def declared() -> Policy:
    """The contract of declared tools, with something at /data."""
    return policy_with("declared").with_mounts(Mount(Path("/usr/share"), PurePosixPath("/data")))


async def call(backend: Backend, workspace: Workspace, code: str) -> Exit:
    """Run code in a workspace that lasts."""
    home = str(backend.inside(workspace))
    env = {**ENVIRONMENT, "HOME": home, "TMPDIR": home, "VESSEL_OUTBOX": str(backend.outbox(workspace))}
    async with backend.start([PYTHON, "-c", code], env, declared(), workspace) as process:
        return await process.wait()


async def test_a_full_workspace_says_so_by_size_and_by_number_of_files(base: Path) -> None:
    """ENOSPC at the policy's size, and at its number of files, which need no bytes."""
    fill = (
        "import os\n"
        "os.chdir(os.environ['HOME'])\n"
        "n = 0\n"
        "try:\n"
        "    for i in range(1000): open(f'f{i}', 'wb').write(bytes(1 << 20)); n += 1\n"
        "except OSError as e: print(e.errno, n)\n"
        "for i in range(n): os.unlink(f'f{i}')\n"
        "os.unlink(f'f{n}')\n"
        "n = 0\n"
        "try:\n"
        "    while True: os.close(os.open(f'e{n}', os.O_CREAT)); n += 1\n"
        "except OSError as e: print(e.errno, n < 16384)\n"
    )
    async with sandbox(base, profiles=["declared"]) as backend, backend.workspace(declared()) as workspace:
        ended = await call(backend, workspace, fill)
    assert ended.stdout.decode() == "28 128\n28 True\n", ended


async def test_calls_of_a_turn_share_it_and_the_outbox_lies_beside_it(base: Path) -> None:
    """The second call finds what the first left; the outbox is collected by its descriptor; nothing stays on the host."""
    async with sandbox(base, profiles=["declared"]) as backend:
        async with backend.workspace(declared()) as workspace:
            first = await call(
                backend,
                workspace,
                "import os; open(os.environ['HOME'] + '/kept', 'w').write('x')\n"
                "open(os.environ['VESSEL_OUTBOX'] + '/out.txt', 'w').write('given back')\n"
                "print(sorted(os.environ), os.getcwd())",
            )
            second = await call(backend, workspace, "import os; print(os.listdir('/work'), os.listdir('/outbox'))")
            with collect(workspace.outbox) as collected:
                (file,) = collected.files
                with file.open() as reader:
                    assert reader.read() == b"given back"
            assert list((workspace.host / "work").iterdir()) == []
        async with backend.workspace(declared()) as other:
            third = await call(backend, other, "import os; print(os.listdir('/work'), os.listdir('/outbox'))")
        assert not list(base.glob("run/*/*"))  # noqa: ASYNC240
    names = "['HOME', 'LANG', 'PATH', 'TMPDIR', 'VESSEL_OUTBOX']"
    assert first.stdout.decode() == f"{names} /data\n", first
    assert second.stdout.decode() == "['kept'] ['out.txt']\n"
    assert third.stdout.decode() == "[] []\n"


async def test_a_workspace_on_the_host_does_not_serve_where_memory_was_promised(base: Path) -> None:
    """The size would be unlimited."""
    async with sandbox(base) as backend, backend.workspaces.new() as workspace:
        with pytest.raises(PolicyInvalidError, match="in memory"):
            backend.start([PYTHON], {}, declared(), workspace)


async def test_the_worker_makes_no_file_where_only_the_command_can(base: Path) -> None:
    """It would land on the host, beside the workspace."""
    async with sandbox(base, profiles=["declared"]) as backend, backend.workspace(declared()) as workspace:
        with pytest.raises(PolicyInvalidError, match="in memory"):
            workspace.write_file("x", b"")


async def test_a_hundred_of_them_leave_no_descriptor_mount_or_folder(base: Path) -> None:
    """Counted before and after."""
    async with sandbox(base, profiles=["declared"]) as backend:
        before = len(os.listdir("/proc/self/fd")), Path("/proc/self/mountinfo").read_text()  # noqa: PTH208, ASYNC240
        for _ in range(100):
            async with backend.workspace(declared()):
                pass
        after = len(os.listdir("/proc/self/fd")), Path("/proc/self/mountinfo").read_text()  # noqa: PTH208, ASYNC240
        assert after == before
        assert not list(base.glob("run/*/*"))  # noqa: ASYNC240


async def test_memory_beyond_the_limit_is_told_as_such(user: str, base: Path) -> None:
    """By cgroup or by watching; the worker goes on."""
    code = "import time\nkept = []\nfor _ in range(3000): kept.append(bytearray(b'x') * (1 << 20))\ntime.sleep(5)"
    ended = await run_as(user, base, code, name="restrictive")
    assert ended.out_of_memory or b"MemoryError" in ended.stderr, ended
    assert ended.code != 0


async def test_a_tool_can_imitate_the_words_of_the_sandbox_and_fails_all_the_same(user: str, base: Path) -> None:
    """Exit code 127 with bubblewrap's text is the tool's own failure."""
    code = 'import sys; sys.stderr.write("bwrap: execvp x: No such file or directory\\n"); sys.exit(127)'
    ended = await run_as(user, base, code)
    assert (ended.code, ended.setup_failed) == (127, None), ended
