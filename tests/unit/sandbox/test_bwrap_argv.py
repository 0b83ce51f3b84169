"""From policy to bubblewrap options, without starting anything."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest

from toolmesh_sandbox.bwrap_argv import BwrapHost, bwrap_command, bwrap_options
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.policy import Mount, Policy
from toolmesh_sandbox.profiles import profile
from toolmesh_sandbox.system_view import ETC_FILES, system_arguments
from toolmesh_sandbox.workspaces import MemoryFolders, Workspace

HOST = BwrapHost(program=Path("/usr/bin/bwrap"), etc=Path("/base/etc"), level=Level.FULL, hidden=())


def options(
    policy: Policy, env: dict[str, str] | None = None, host: BwrapHost = HOST, workspace: Workspace | None = None
) -> list[str]:
    return (
        bwrap_options(policy, env or {}, workspace or Workspace(Path("/base/ws"), None), host).decode().split("\0")[:-1]
    )


def position(words: Sequence[str], *wanted: str) -> int:
    """Index at which these words follow each other; -1 if they never do."""
    return next((i for i in range(len(words)) if list(words[i : i + len(wanted)]) == list(wanted)), -1)


def binds(words: Sequence[str]) -> dict[str, str]:
    """Target to source of every read-only bind."""
    return {words[i + 2]: words[i + 1] for i, word in enumerate(words) if word == "--ro-bind"}


def test_secrets_and_options_are_not_in_the_argument_vector() -> None:
    """The process table shows descriptors and the command, nothing else."""
    argv = bwrap_command(["tool", "--x"], profile("standard"))
    assert " ".join(argv) == "bwrap --args 3 --seccomp 4 --json-status-fd 5 --block-fd 6 -- tool --x"
    connected = bwrap_command(["tool"], profile("standard"), connected=True)
    assert " ".join(connected) == "bwrap --args 4 --seccomp 5 --json-status-fd 6 --block-fd 7 -- tool"


def test_where_the_environment_is_exact_the_added_variable_is_taken_away() -> None:
    """Bubblewrap sets PWD whatever it is told."""
    assert bwrap_command(["tool"], profile("declared"))[-5:] == ("/usr/bin/env", "-u", "PWD", "--", "tool")


def test_a_workspace_in_memory_has_its_outbox_beside_it() -> None:
    """Two mounts, neither below the other, no /tmp, and the start in /data."""
    workspace = Workspace(Path("/base/ws"), None)
    workspace.memory = MemoryFolders(namespaces=(0, 0), work=0, outbox=0)
    words = options(profile("declared"), workspace=workspace)
    assert position(words, "--bind", "/base/ws/work", "/work", "--bind", "/base/ws/outbox", "/outbox") > 0
    assert position(words, "--chdir", "/data") > 0
    assert "/tmp" not in words  # noqa: S108


def test_without_a_proc_of_its_own_the_folder_is_empty() -> None:
    """Never the container's, which shows every process of it."""
    words = options(profile("standard"), host=dataclasses.replace(HOST, level=Level.NO_PROC))
    assert position(words, "--dir", "/proc") > 0
    assert "--proc" not in words


def test_namespaces_are_named_one_by_one() -> None:
    """`--unshare-all` would only try the user namespace; the network goes only where the policy says so."""
    standard, restrictive = options(profile("standard")), options(profile("restrictive"))
    for name in ("user", "pid", "ipc", "uts", "cgroup-try"):
        assert f"--unshare-{name}" in standard
    assert "--unshare-net" not in standard
    assert "--unshare-net" in restrictive
    for words in (standard, restrictive):
        assert "--die-with-parent" in words
        assert position(words, "--cap-drop", "ALL") > 0
        assert position(words, "--uid", "1000", "--gid", "1000") > 0


def test_the_root_is_made_read_only_after_the_last_mount() -> None:
    """Nothing is mounted below the workspace, and what follows the remount mounts nothing."""
    policy = profile("standard").with_mounts(Mount(Path("/base/t"), PurePosixPath("/opt/toolmesh/toolset")))
    words = options(policy, {"HOME": "/work"})
    last = position(words, "--remount-ro", "/")
    mounting = ("--bind", "--ro-bind", "--tmpfs", "--dev", "--proc", "--dir", "--symlink")
    assert all(i < last for i, word in enumerate(words) if word in mounting)
    assert position(words, "--bind", "/base/ws", "/work") > 0
    assert not [word for word in words if word.startswith("/work/")]
    assert position(words, "--ro-bind", "/base/t", "/opt/toolmesh/toolset") > 0
    assert position(words, "--clearenv", "--setenv", "HOME", "/work") > last


def test_dev_and_proc_sys_are_read_only() -> None:
    """Devices could be made otherwise, and sysctls are checked against the host's uid."""
    words = options(profile("standard"))
    assert position(words, "--dev", "/dev") > 0
    assert position(words, "--remount-ro", "/dev") > position(words, "--dev", "/dev")
    assert position(words, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys") > 0


def test_what_bubblewrap_makes_in_memory_has_a_size_and_only_where_the_policy_says_so() -> None:
    """Folders for files and for shared memory, the latter not where it may not be used."""
    words = options(profile("restrictive"))
    assert position(words, "--perms", "1777", "--size", str(64 << 20), "--tmpfs", "/tmp") > 0  # noqa: S108
    assert position(words, "--perms", "1777", "--size", str(128 << 20), "--tmpfs", "/dev/shm") > 0  # noqa: S108
    without = dataclasses.replace(profile("standard"), shared_memory=False)
    assert "/dev/shm" not in options(without)  # noqa: S108


def test_disable_userns_is_left_out_where_the_probe_found_it_missing() -> None:
    """The one flag that is optional, by what the start-up probe saw."""
    without = BwrapHost(program=HOST.program, etc=HOST.etc, level=Level.USER_NAMESPACES_LEFT, hidden=())
    assert "--disable-userns" in options(profile("standard"))
    assert "--disable-userns" not in options(profile("standard"), host=without)


def test_writable_mounts_are_bound_writable() -> None:
    """Only when the mount says so."""
    policy = profile("standard").with_mounts(Mount(Path("/v"), PurePosixPath("/data"), read_only=False))
    assert position(options(policy), "--bind", "/v", "/data") > 0


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A small host tree with all that must not be seen."""
    for name in (
        "usr/bin",
        "lib",
        "etc/ssl/certs",
        "etc/ssl/private",
        "etc/ssh",
        "etc/app",
        "home/me",
        "root",
        "run",
        "var",
    ):
        (tmp_path / name).mkdir(parents=True)
    for name in ("etc/shadow", "etc/passwd", "etc/hosts", "etc/resolv.conf", "etc/localtime", "etc/app/conf"):
        (tmp_path / name).write_text("x")
    for name in ("opt/toolmesh/old", "opt/site", "srv/data", "data/keys"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "opt/link").symlink_to("/root")
    (tmp_path / "bin").symlink_to("usr/bin")
    return tmp_path


def test_the_system_view_shows_usr_and_a_list_of_etc(host: Path) -> None:
    """Merged folders stay links; user data and secrets are not named at all."""
    words = system_arguments(profile("standard"), Path("/etc-files"), (), host)
    shown = binds(words)
    assert set(shown) == {
        *("/usr", "/lib", "/etc/ssl/certs", "/etc/localtime", "/etc/resolv.conf", "/etc/hosts"),
        *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf"),
    }
    assert position(words, "--symlink", "usr/bin", "/bin") >= 0
    assert shown["/etc/passwd"] == "/etc-files/passwd"
    assert shown["/etc/hosts"] == str(host / "etc/hosts")


def test_without_network_the_name_service_files_are_made_up(host: Path) -> None:
    """A closed sandbox does not learn the host's resolver or host names."""
    shown = binds(system_arguments(profile("restrictive"), Path("/etc-files"), (), host))
    assert "/etc/resolv.conf" not in shown
    assert shown["/etc/hosts"] == "/etc-files/hosts"


def test_the_host_view_leaves_out_homes_run_var_and_password_files(host: Path) -> None:
    """Everything else of the top level is shown."""
    words = system_arguments(profile("permissive"), Path("/etc-files"), (), host)
    shown = binds(words)
    assert {"/opt", "/srv", "/data", "/etc/app"} <= set(shown)
    assert not {"/root", "/home", "/run", "/var", "/etc/shadow", "/etc/ssh", "/etc/ssl/private"} & set(shown)
    assert shown["/etc/passwd"] == "/etc-files/passwd"
    assert position(words, "--dir", "/var") >= 0


def test_a_folder_with_a_mount_in_it_is_shown_piece_by_piece(host: Path) -> None:
    """A mount point can't be made in a read-only bind; links are left out there."""
    policy = profile("permissive").with_mounts(Mount(Path("/t"), PurePosixPath("/opt/toolmesh/toolset")))
    shown = binds(system_arguments(policy, Path("/etc-files"), (), host))
    assert {"/opt/site", "/opt/toolmesh/old"} <= set(shown)
    assert not {"/opt", "/opt/toolmesh", "/opt/link"} & set(shown)
    taken = profile("permissive").with_mounts(Mount(Path("/t"), PurePosixPath("/srv")))
    assert "/srv" not in binds(system_arguments(taken, Path("/etc-files"), (), host))


def test_hidden_paths_are_left_out_or_covered(host: Path) -> None:
    """A hidden top folder is not bound; below a bound one a folder gets an empty tmpfs and a file /dev/null."""
    hidden = (host / "srv", host / "data/keys", host / "etc/app/conf", host / "home/me", host / "data/absent")
    words = system_arguments(profile("permissive"), Path("/etc-files"), hidden, host)
    assert "/srv" not in binds(words)
    assert position(words, "--tmpfs", "/data/keys", "--remount-ro", "/data/keys") > 0
    assert position(words, "--ro-bind", "/dev/null", "/etc/app/conf") > 0
    assert "/home/me" not in words
    assert "/data/absent" not in words


def test_there_is_one_user_besides_root() -> None:
    """The made-up account files name the uid that the tool has inside."""
    assert "tool:x:1000:1000:" in ETC_FILES["passwd"]
    assert "tool:x:1000:" in ETC_FILES["group"]
