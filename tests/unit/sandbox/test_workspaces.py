"""Workspaces and the uids lent with them."""

import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest
from tests.support.sandboxes import throwaway_base

from toolmesh_sandbox import identities
from toolmesh_sandbox.errors import PolicyInvalidError, SandboxExhaustedError, SandboxUnavailableError
from toolmesh_sandbox.identities import Identities, uid_locks
from toolmesh_sandbox.workspaces import Workspace, open_workspaces

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")
ROOT = os.getuid() == 0


async def test_a_workspace_is_private_and_gone_afterwards() -> None:
    """0700 with input and output, owned by the uid that was lent."""
    with throwaway_base() as base:
        async with open_workspaces(base, Identities(base, 59184, 10)) as workspaces:
            async with workspaces.new() as workspace:
                for folder in (workspace.host, workspace.host / "input", workspace.host / "output"):
                    found = folder.stat()
                    assert stat.S_IMODE(found.st_mode) == 0o700
                    assert found.st_uid == (workspace.uid if ROOT else os.getuid())
                assert (workspace.uid is not None) == ROOT
                assert len(str(workspace.host / "ipc.sock")) < 100
            assert not workspace.host.exists()
        assert list((base / "run").iterdir()) == []


def test_files_fifos_and_sockets_become_the_tools(tmp_path: Path) -> None:
    """Made with mode 0600 under the lent uid."""
    workspace = Workspace(tmp_path, 61184 if ROOT else None)
    (tmp_path / "input").mkdir()
    workspace.write_file("input/a.txt", b"content")
    with workspace.create_file("big") as file:
        file.write(b"x")
    workspace.make_fifo("status.pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
    workspace.adopt("s")
    for name in ("input/a.txt", "big", "status.pipe", "s"):
        found = (tmp_path / name).lstat()
        assert found.st_uid == (61184 if ROOT else os.getuid())
        assert name == "s" or stat.S_IMODE(found.st_mode) == 0o600
    assert (tmp_path / "input/a.txt").read_bytes() == b"content"
    assert stat.S_ISFIFO((tmp_path / "status.pipe").stat().st_mode)


def test_what_an_earlier_tool_planted_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    """A link in the place of a file or of a folder on the way is an error, and so is an existing file."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "ws").mkdir()
    workspace = Workspace(tmp_path / "ws", None)
    (tmp_path / "ws/input").symlink_to(tmp_path / "outside")
    (tmp_path / "ws/args.json").symlink_to(tmp_path / "outside/made")
    (tmp_path / "ws/there").touch()
    for name in ("input/x", "args.json", "there"):
        with pytest.raises(OSError, match=r"Not a directory|File exists|Too many levels"):
            workspace.write_file(name, b"x")
    assert list((tmp_path / "outside").iterdir()) == []
    for name in ("../x", "/etc/x", ""):
        with pytest.raises(PolicyInvalidError, match="inside the workspace"):
            workspace.write_file(name, b"x")


@needs_root
def test_no_two_workers_of_a_machine_share_a_uid() -> None:
    """Two workers, also with work folders of their own, draw from one stock through the lock files; what is given back is lent again."""
    with throwaway_base() as base, throwaway_base() as other:
        first, second = Identities(base, 60184, 3), Identities(other, 60184, 3)
        with first.lease() as one, second.lease() as two, first.lease() as three:
            assert {one, two, three} == {60184, 60185, 60186}
            with pytest.raises(SandboxExhaustedError, match="all 3 uids from 60184"), second.lease():
                pass
        with second.lease() as again:
            assert again in {60184, 60185, 60186}


@needs_root
@pytest.mark.parametrize("found", ["nothing that can be made", "a link", "another's"])
def test_locks_are_in_the_base_folder_where_the_machines_are_not_to_be_trusted(
    found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container with a root file system that can't be written, or a folder that somebody else has made."""
    with throwaway_base() as base:
        machine = base / ("none/there" if found.startswith("nothing") else "there")
        if found == "a link":
            machine.symlink_to(base)
        elif found == "another's":
            machine.mkdir(0o700)
            os.chown(machine, 60184, 60184)
        monkeypatch.setattr(identities, "_OF_THE_MACHINE", machine)
        assert uid_locks(base) == base / "uids"
        machine = base / "ours"
        monkeypatch.setattr(identities, "_OF_THE_MACHINE", machine)
        assert uid_locks(base) == machine


@needs_root
def test_a_uid_with_running_processes_is_not_lent() -> None:
    """It belongs to another program, or a killed worker left something behind."""
    with throwaway_base() as base, subprocess.Popen(["/bin/sleep", "30"], user=60284) as sleeper:
        with Identities(base, 60284, 2).lease() as uid:
            assert uid == 60285
        sleeper.kill()


@needs_root
async def test_a_worker_that_may_not_give_files_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A root without CAP_CHOWN, or a uid that the container does not map; nothing is left of the attempt."""
    with throwaway_base() as base:
        async with open_workspaces(base, Identities(base, 59184, 10)) as workspaces:
            monkeypatch.setattr(os, "chown", _refused)
            with pytest.raises(SandboxUnavailableError, match="CAP_CHOWN"):
                async with workspaces.new():
                    pass
            assert not list(base.glob("run/*/*"))


def _refused(*_args: object) -> None:
    raise PermissionError(1, "Operation not permitted")


async def test_leftovers_of_a_dead_worker_are_removed_and_those_of_a_living_one_stay() -> None:
    """Told apart by the lock that goes with the process."""
    with throwaway_base() as base:
        identities = Identities(base, 59184, 10)
        async with open_workspaces(base, identities) as living, living.new() as workspace:
            dead = base / "run/dead/call"
            dead.mkdir(parents=True)
            (base / "run/dead.lock").touch()
            async with open_workspaces(base, identities):
                assert not dead.exists()
                assert not (base / "run/dead.lock").exists()
                assert workspace.host.exists()
