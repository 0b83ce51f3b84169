"""The self-test: attacks what was promised, tells it as data, and lets nothing start below the operator's floor."""

import json
from pathlib import Path

import pytest
from tests.support.sandboxes import sandbox

from toolmesh_contracts.worker_config import WorkerConfig
from toolmesh_runtime.sandbox_settings import sandbox_settings
from toolmesh_sandbox import self_test
from toolmesh_sandbox.bwrap_binary import find_bwrap
from toolmesh_sandbox.errors import SandboxUnavailableError
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.settings import Mode, SandboxSettings

PROFILES = ("declared", "restrictive", "standard", "permissive")


def weakened(base: Path, *, drop: dict[str, int] | None = None, refuse: dict[str, str] | None = None) -> Path:
    """A bubblewrap that leaves options out (with so many words), or fails with a text when it is given one.

    Args:
        base: where to put it.
        drop: option to the number of its own words.
        refuse: option to what is said about it.
    """
    program = base / "weak-bwrap"
    program.write_text(
        "#!/usr/bin/python3 -IS\n"
        "import os, sys\n"
        f"drop, refuse = {drop or {}!r}, {refuse or {}!r}\n"
        "def less(words):\n"
        "    kept = []\n"
        "    while words:\n"
        "        word = words.pop(0)\n"
        "        if word in refuse: sys.exit('bwrap: ' + refuse[word])\n"
        "        if word in drop: del words[:drop[word]]\n"
        "        else: kept.append(word)\n"
        "    return kept\n"
        "words = less(os.read(3, 1 << 20).decode().split('\\0')[:-1])\n"
        "end = sys.argv.index('--')\n"
        "own = less(sys.argv[:end])\n"
        "new = os.memfd_create('x')\n"
        "os.write(new, b''.join(w.encode() + b'\\0' for w in words)); os.lseek(new, 0, 0); os.dup2(new, 3)\n"
        f"os.execve({str(find_bwrap(None, base))!r}, own + sys.argv[end:], {{}})\n"
    )
    program.chmod(0o755)
    return program


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
