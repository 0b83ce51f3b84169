"""Where a call's memory cgroup may lie, from what the kernel says of this process; and the group itself where it works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolmesh_sandbox import cgroups

MOUNT = "30 24 0:26 {root} {point} rw,relatime - {kind} {kind} {options}\n"


def proc(folder: Path, groups: str, mounts: str) -> Path:
    """A folder like /proc/self."""
    (folder / "cgroup").write_text(groups)
    (folder / "mountinfo").write_text(mounts)
    return folder


def candidates(folder: Path, groups: str, mounts: str) -> list[Path]:
    return cgroups._candidates(proc(folder, groups, mounts))


def test_version_1_lies_below_the_workers_own_group(tmp_path: Path) -> None:
    """The memory hierarchy only, also where a container sees a part of it."""
    groups = "4:memory:/pod/worker\n3:cpuset:/\n0::/\n"
    mount = MOUNT.format(root="/", point="/sys/fs/cgroup/memory", kind="cgroup", options="rw,memory")
    other = MOUNT.format(root="/", point="/sys/fs/cgroup/cpuset", kind="cgroup", options="rw,cpuset")
    assert candidates(tmp_path, groups, other + mount) == [Path("/sys/fs/cgroup/memory/pod/worker")]
    inside = MOUNT.format(root="/pod", point="/sys/fs/cgroup/memory", kind="cgroup", options="rw,memory")
    assert candidates(tmp_path, groups, inside) == [Path("/sys/fs/cgroup/memory/worker")]
    foreign = MOUNT.format(root="/elsewhere", point="/sys/fs/cgroup/memory", kind="cgroup", options="rw,memory")
    assert candidates(tmp_path, groups, foreign) == []


def test_version_2_lies_beside_the_workers_own_group(tmp_path: Path) -> None:
    """A group with processes can't have limited children."""
    mount = MOUNT.format(root="/", point="/sys/fs/cgroup", kind="cgroup2", options="rw")
    assert candidates(tmp_path, "0::/system.slice/w.service/worker\n", mount) == [
        Path("/sys/fs/cgroup/system.slice/w.service")
    ]


def test_version_2_is_not_used_where_memory_is_not_handed_down(tmp_path: Path) -> None:
    """Nor where the folder can't be written, which is found out by writing."""
    parent = tmp_path / "group"
    parent.mkdir()
    (parent / "cgroup.subtree_control").write_text("cpu pids\n")
    assert not cgroups._works(parent)
    assert not cgroups._works(tmp_path / "gone")


def test_a_version_2_group_is_limited_as_a_whole(tmp_path: Path) -> None:
    """A folder in the place of the kernel's: limit, no swap, one kill for all; peak and kills are read back."""
    made = tmp_path / "parent"
    made.mkdir()

    class WithFiles(cgroups.CallGroup):
        """The files that the kernel would make with the folder."""

        def _write(self, name: str, value: int) -> None:
            (self._folder / name).write_text(str(value))

    original = Path.mkdir

    def mkdir(self: Path, *args: object, **more: object) -> None:
        original(self)
        for name in ("memory.max", "memory.oom.group", "memory.swap.max", "cgroup.procs"):
            (self / name).touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "mkdir", mkdir)
        group = WithFiles(made, 1000)
    (folder,) = made.iterdir()
    group.enter()
    written = {path.name: path.read_text() for path in folder.iterdir()}
    assert written == {"memory.max": "1000", "memory.oom.group": "1", "memory.swap.max": "0", "cgroup.procs": "0"}
    assert (group.peak_bytes(), group.ran_out()) == (0, False)
    (folder / "memory.peak").write_text("900\n")
    (folder / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
    assert (group.peak_bytes(), group.ran_out()) == (900, True)


def test_groups_of_killed_workers_are_swept_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    """The name tells the maker."""
    with subprocess.Popen([sys.executable, "-c", "pass"]) as ended:
        pass
    dead, living = tmp_path / f"toolmesh-{ended.pid}-ab", tmp_path / f"toolmesh-{os.getpid()}-ab"
    dead.mkdir()
    living.mkdir()
    cgroups.sweep(tmp_path)
    assert not dead.exists()
    assert living.exists()


def test_what_was_found_really_limits() -> None:
    """Where this process may make groups: a child that takes more than its group's limit is killed, and counted."""
    parent = cgroups.find_parent()
    if parent is None:
        pytest.skip("no memory cgroup can be made here")
    group = cgroups.CallGroup(parent, 32 << 20)
    try:
        child = os.fork()
        if child == 0:
            try:
                group.enter()
                os.execv(sys.executable, [sys.executable, "-c", "b = bytearray(b'x') * (200 << 20)"])  # noqa: S606
            finally:
                os._exit(1)
        _pid, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == 9
        assert group.ran_out()
        assert group.peak_bytes() > 16 << 20
    finally:
        group.remove()
    assert not list(parent.glob(f"toolmesh-{os.getpid()}-*"))
