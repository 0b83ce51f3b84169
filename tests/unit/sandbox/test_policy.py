"""Policies refuse what no backend may run."""

from pathlib import Path, PurePosixPath

import pytest

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.bwrap_argv import BwrapHost
from toolmesh_sandbox.bwrap_backend import BwrapBackend
from toolmesh_sandbox.errors import PolicyInvalidError, SandboxError
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.policy import Mount
from toolmesh_sandbox.profiles import profile


@pytest.mark.parametrize(
    "target",
    ["/work", "/work/deeper", "/tmp/x", "/usr/lib/x", "/etc/x", "/", "/proc/self", "/dev/shm", "/run/x", "/var"],  # noqa: S108
)
def test_no_mount_lands_on_or_around_what_the_sandbox_makes_itself(target: str) -> None:
    """Above all not below the workspace, where a planted link would lead to the host."""
    with pytest.raises(PolicyInvalidError, match="collides"):
        profile("standard").with_mounts(Mount(Path("/srv/x"), PurePosixPath(target)))


@pytest.mark.parametrize("second", ["/data", "/data/deeper", "/data/a/b"])
def test_no_mount_lies_below_another(second: str) -> None:
    """Also not when the outer one comes last."""
    outer, inner = Mount(Path("/a"), PurePosixPath("/data")), Mount(Path("/b"), PurePosixPath(second))
    for order in ((outer, inner), (inner, outer)):
        with pytest.raises(PolicyInvalidError, match="collides"):
            profile("standard").with_mounts(*order)


@pytest.mark.parametrize(("source", "target"), [("a", "/data"), ("/a", "data"), ("/a/../b", "/d"), ("/a", "/d/../usr")])
def test_mount_paths_are_plain_and_absolute(source: str, target: str) -> None:
    """No relative path and no `..` on either side."""
    with pytest.raises(PolicyInvalidError, match="plain absolute path"):
        Mount(Path(source), PurePosixPath(target))


def test_siblings_may_be_mounted_side_by_side() -> None:
    """A shared prefix of names is no nesting."""
    mounts = (Mount(Path("/a"), PurePosixPath("/data")), Mount(Path("/b"), PurePosixPath("/data2")))
    assert profile("standard").with_mounts(*mounts).mounts == mounts


@pytest.mark.parametrize("seconds", [0, -1, 1e9, float("nan")])
def test_the_wall_clock_is_bounded(seconds: float) -> None:
    """No call without an end."""
    with pytest.raises(PolicyInvalidError, match="wall_clock_s"):
        profile("standard").with_wall_clock(seconds)


@pytest.mark.parametrize(
    ("argv", "env", "said"),
    [
        ([], {}, "empty"),
        ([""], {}, "empty"),
        (["a\0b"], {}, "NUL"),
        (["a"], {"A=B": "c"}, "A=B"),
        (["a"], {"": "c"}, "''"),
        (["a"], {"A": "b\0--bind\0/\0/x"}, "'A'"),
    ],
)
def test_arguments_and_variables_that_would_become_options_are_refused(
    argv: list[str], env: dict[str, str], said: str
) -> None:
    """A NUL in a value would end it in the option list of bubblewrap. Refused before anything is started."""
    host = BwrapHost(program=Path("/bwrap"), etc=Path("/etc"), level=Level.FULL, hidden=())
    backend: Backend = BwrapBackend(None, None, host)  # type: ignore[arg-type]
    with pytest.raises(PolicyInvalidError, match=said):
        backend.start(argv, env, profile("standard"), None)  # type: ignore[arg-type]


def test_errors_carry_code_message_and_hint() -> None:
    """The three parts stay apart for whoever renders them."""
    error = PolicyInvalidError("it is wrong", "do this")
    assert (error.code, error.message, error.hint, str(error)) == (
        "POLICY_INVALID",
        "it is wrong",
        "do this",
        "it is wrong (do this)",
    )
    assert str(SandboxError("plain")) == "plain"
