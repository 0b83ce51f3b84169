"""Opening a backend proves that it works, or says what is missing."""

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest
from tests.support.sandboxes import run, sandbox

from toolmesh_sandbox.bwrap_binary import SYSTEM_BWRAP, find_bwrap
from toolmesh_sandbox.errors import PolicyInvalidError, SandboxUnavailableError
from toolmesh_sandbox.opening import open_backend
from toolmesh_sandbox.settings import Mode, SandboxSettings, default_base

SCRIPT = "#!/bin/sh\necho 'bwrap: {said}' >&2\nexit 1\n"


def fake_bwrap(base: Path, text: str) -> Path:
    """A program in the place of bubblewrap."""
    program = base / "fake-bwrap"
    program.write_text(text)
    program.chmod(0o755)
    return program


@pytest.mark.requirement("sandbox:refused")
async def test_a_machine_that_refuses_namespaces_is_told_by_name(base: Path) -> None:
    """Nothing is handed out; the error names the option and the way round."""
    program = fake_bwrap(base, SCRIPT.format(said="No permissions to create new namespace, likely because"))
    with pytest.raises(SandboxUnavailableError, match="user namespaces") as caught:
        async with sandbox(base, bwrap=program):
            pass
    assert "--allow-unsandboxed" in caught.value.hint


async def test_disabling_user_namespaces_is_given_up_only_when_that_is_what_fails(
    base: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where /proc/sys is read-only the sandbox works without that one flag, and the log says so."""
    real = find_bwrap(None, base)
    picky = fake_bwrap(
        base,
        "#!/usr/bin/python3 -IS\n"
        "import os, sys\n"
        "if b'--disable-userns' in os.read(3, 1 << 20).split(b'\\0'):\n"
        "    sys.exit('bwrap: cannot open /proc/sys/user/max_user_namespaces: Read-only file system')\n"
        "os.lseek(3, 0, os.SEEK_SET)\n"
        f"os.execve({str(real)!r}, sys.argv, {{}})\n",
    )
    async with sandbox(base, bwrap=picky) as backend:
        assert (await run(backend, ["/usr/bin/true"])).code == 0
    assert "can't give level FULL" in caplog.text


async def test_a_bubblewrap_that_tools_cant_reach_is_told(base: Path) -> None:
    """Such as one below root's home."""
    if os.getuid() != 0:
        pytest.skip("needs root")
    (base / "home").mkdir(mode=0o700)
    program = shutil.copy("/bin/true", base / "home/bwrap")
    with pytest.raises(SandboxUnavailableError, match="execute bwrap as the tool's uid"):
        async with sandbox(base / "base", bwrap=Path(program)):
            pass


async def test_every_bubblewrap_of_this_machine_works(base: Path) -> None:
    """The distribution's where it is installed, and the wheel's."""
    programs = [find_bwrap(None, base, system=Path("/nowhere"))]
    programs += [path for path in (SYSTEM_BWRAP,) if path.exists()]
    for program in programs:
        async with sandbox(base, profiles=["standard", "restrictive", "permissive"], bwrap=program) as backend:
            assert (await run(backend, "pass")).code == 0


async def test_direct_needs_its_flag(base: Path) -> None:
    """The hint names it."""
    with pytest.raises(SandboxUnavailableError, match="--allow-unsandboxed"):
        async with open_backend(SandboxSettings(mode=Mode.DIRECT, base=base)):
            pass


@pytest.mark.parametrize("mode", [Mode.BWRAP, Mode.PRLIMIT_ONLY])
async def test_other_systems_are_told_how_to_go_on(base: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence with the flag, before anything is made."""
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailableError, match=r"needs Linux; this is darwin .*--allow-unsandboxed"):
        async with open_backend(SandboxSettings(mode=mode, base=base)):
            pass
    assert os.listdir(base) == []  # noqa: PTH208


async def test_an_unknown_profile_is_refused_at_once(base: Path) -> None:
    """Before any process is started."""
    with pytest.raises(PolicyInvalidError, match="lax"):
        async with sandbox(base, profiles=["lax"]):
            pass


def check_leftovers(base: Path) -> None:
    assert {path.name for path in base.iterdir()} <= {"run", "uids", "published"}
    for path in (base / "published").rglob("*"):
        assert path.stat().st_uid == os.getuid()
        assert not path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)


async def test_nothing_but_locks_and_published_trees_stays(base: Path) -> None:
    """After a backend is closed; and what stays can't be changed by a tool."""
    async with sandbox(base) as backend:
        await run(backend, "pass")
    check_leftovers(base)


def test_the_default_base_lies_outside_any_home() -> None:
    """And is another one for each uid."""
    assert default_base() == Path(f"/var/tmp/toolmesh-{os.getuid()}")  # noqa: S108
