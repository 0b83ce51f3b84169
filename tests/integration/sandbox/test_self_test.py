"""The self-test: attacks what was promised, tells it as data, and lets nothing start below the operator's floor."""

import json
from pathlib import Path

import pytest
from tests.support.sandboxes import sandbox
from tests.support.weak_bubblewrap import weakened

from toolmesh_contracts.worker_config import WorkerConfig
from toolmesh_runtime.sandbox_settings import sandbox_settings
from toolmesh_sandbox import self_test
from toolmesh_sandbox.errors import SandboxUnavailableError
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.settings import Mode, SandboxSettings

PROFILES = ("declared", "restrictive", "standard", "permissive")


async def test_every_profile_holds_here_and_the_report_is_json(base: Path) -> None:
    """All promises of all four profiles, level and means by name."""
    report = await self_test.run(SandboxSettings(base=base, profiles=PROFILES))
    assert report.ok, "\n".join(report.lines())
    assert report.level is Level.FULL
    assert [profile.profile for profile in report.profiles] == list(PROFILES)
    data = json.loads(json.dumps(report.to_json()))
    assert (data["ok"], data["level"], data["floor"]) == (True, "FULL", "USER_NAMESPACES_LEFT")
    assert data["memory"] in {"cgroup", "watcher"}
    assert "bubblewrap" in data["program"]
    assert "    system calls: held" in report.lines()


@pytest.mark.parametrize(
    ("options", "promise"),
    [
        ({"--seccomp": 1}, "system calls"),
        ({"--unshare-net": 0, "--seccomp": 1}, "network"),
        ({"--remount-ro": 1}, "writes"),
        ({"--size": 1}, "shared memory"),
        ({"--size": 1}, "disk"),
        ({"--perms": 1}, "shared memory"),
        ({"--clearenv": 0}, ""),
    ],
)
async def test_what_is_left_out_is_noticed_and_nothing_starts(
    base: Path, options: dict[str, int], promise: str
) -> None:
    """A bubblewrap that ignores an option: the promise is named, in the report and in the refusal to open."""
    program = weakened(base, drop=options)
    report = await self_test.run(SandboxSettings(base=base / "sandbox", profiles=("restrictive",), bwrap=program))
    broken = {each.name for profile in report.profiles for each in profile.broken}
    if not promise:
        assert report.ok, "\n".join(report.lines())  # it is started without an environment, so there is none to clear
        return
    assert promise in broken, "\n".join(report.lines())
    assert not report.ok
    assert any("NOT HELD" in line for line in report.lines())
    with pytest.raises(SandboxUnavailableError, match=promise):
        async with sandbox(base / "sandbox", profiles=["restrictive"], bwrap=program):
            pass


async def test_shared_memory_of_the_host_is_noticed(base: Path) -> None:
    """A /dev/shm that is not the call's own: what others have there is in sight."""
    same = ("--tmpfs /dev/shm", "--bind /dev/shm /dev/shm")
    program = weakened(base, drop={"--perms": 1, "--size": 1}, instead=same)
    report = await self_test.run(SandboxSettings(base=base / "sandbox", bwrap=program))
    found = {each.name: each.found for profile in report.profiles for each in profile.broken}
    assert ".canary-" in found["shared memory"], "\n".join(report.lines())


async def test_a_number_of_files_that_nobody_looks_at_is_noticed(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the watch on what bubblewrap makes in memory, the promise is not held, for either folder."""
    monkeypatch.setattr("toolmesh_sandbox.bwrap_backend.own_folders", lambda _policy: ())
    report = await self_test.run(SandboxSettings(base=base))
    (broken,) = report.profiles[0].broken
    assert broken.name == "number of files"
    assert "/tmp" in broken.found  # noqa: S108
    assert "/dev/shm" in broken.found  # noqa: S108


async def test_a_masked_proc_is_refused_by_name_and_taken_only_where_the_operator_says_so(base: Path) -> None:
    """The floor decides how far down the ladder a worker may go."""
    program = weakened(base, refuse={"--proc": "Can't mount proc on /newroot/proc: Operation not permitted"})
    settings = SandboxSettings(base=base / "sandbox", profiles=("restrictive",), bwrap=program)
    report = await self_test.run(settings)
    assert (report.ok, report.level) == (False, None)
    assert "/proc" in report.missing
    assert "procMount" in report.hint
    assert "refused" in report.lines()[0]
    async with sandbox(
        base / "sandbox", profiles=["restrictive", "declared"], bwrap=program, floor=Level.NO_PROC
    ) as backend:
        assert backend.level is Level.NO_PROC


@pytest.mark.requirement("worker:floor")
@pytest.mark.parametrize(("floor", "level"), [("FULL", None), ("USER_NAMESPACES_LEFT", None), ("NO_PROC", "NO_PROC")])
async def test_a_workers_configuration_names_the_floor(base: Path, floor: str, level: str | None) -> None:
    """On a machine with a masked /proc a worker starts with `sandbox.floor: NO_PROC`, and with nothing else."""
    program = weakened(base, refuse={"--proc": "Can't mount proc on /newroot/proc: Operation not permitted"})
    config = WorkerConfig.model_validate(
        {
            "namespace": "test",
            "toolsets": ["tools"],
            "keys": {"issuer": "a", "executors": "b", "sealing": "c"},
            "sandbox": {"floor": floor, "bwrap": str(program), "work_folder": str(base / "sandbox")},
        }
    )
    report = await self_test.run(sandbox_settings(config, base))
    assert (report.floor.name, report.level and report.level.name, report.ok) == (floor, level, level is not None)


async def test_below_bubblewrap_only_where_the_floor_allows_and_never_for_a_closed_network(base: Path) -> None:
    """`prlimit-only` stands in with its filter; a profile without network stays refused."""
    missing = base / "no-bwrap"
    async with sandbox(base / "sandbox", bwrap=missing, floor=Level.FILTER_ONLY) as backend:
        assert (backend.mode, backend.level) == (Mode.PRLIMIT_ONLY, Level.FILTER_ONLY)
    settings = SandboxSettings(base=base / "sandbox", bwrap=missing, floor=Level.LIMITS_ONLY, profiles=("restrictive",))
    report = await self_test.run(settings)
    assert "no network" in report.error


@pytest.mark.parametrize("mode", [Mode.PRLIMIT_ONLY, Mode.DIRECT])
async def test_the_other_modes_prove_what_little_they_promise(base: Path, mode: Mode) -> None:
    """Environment, descriptors, time; with limits also these, the filter and memory."""
    report = await self_test.run(SandboxSettings(base=base, mode=mode, allow_direct=True))
    assert report.ok, "\n".join(report.lines())
    names = {promise.name for profile in report.profiles for promise in profile.promises}
    assert {"environment", "descriptors", "wall clock"} <= names
    assert ("limits" in names) == (mode is Mode.PRLIMIT_ONLY)
    assert "network" not in names
