"""What the doctor makes of what it sees."""

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from toolmesh_broker.embedded.data_folder import DataFolder, lock_folder
from toolmesh_broker.jetstream.inspection import Inspection
from toolmesh_cli.doctor import sandbox
from toolmesh_cli.doctor.broker import inspection_findings
from toolmesh_cli.doctor.examination import run_doctor
from toolmesh_cli.doctor.finding import Finding, State
from toolmesh_cli.doctor.machine import check_disk, check_kernel, check_tool_python
from toolmesh_cli.doctor.mesh import check_mesh, listing_findings
from toolmesh_cli.doctor.sandbox_promises import run_sandbox_test, settings_of
from toolmesh_cli.mesh_listing import MeshListing
from toolmesh_contracts.envelopes.catalog import CatalogEntry, Heartbeat, ToolProblem
from toolmesh_contracts.errors import ErrorCode
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.profiles import PROFILES
from toolmesh_sandbox.settings import Mode, SandboxSettings

MODELS = ("openai/small", "", None)
SOUND = Inspection(
    api_level=2, streams=9, missing=(), broken=(), different=(), dead_letters=0, skew_s=0.01
)  # fmt: skip


def states(findings: Sequence[Finding]) -> dict[str, State]:
    return {finding.check: finding.state for finding in findings}


@pytest.mark.requirement("doctor:cures")
def test_every_finding_that_is_not_good_has_a_cure() -> None:
    """A broker where everything is wrong."""
    bad = Inspection(
        api_level=2, streams=9, missing=("stream X",), broken=("y",), different=(), dead_letters=3, skew_s=-40.0
    )  # fmt: skip
    findings = list(inspection_findings(bad))

    assert states(findings) == {"streams": State.PROBLEM, "dead-letters": State.WARNING, "clock": State.PROBLEM}
    assert all(finding.cure for finding in findings)
    assert "stream X is missing; y" in findings[0].detail
    assert "40.0 s behind" in findings[2].detail


def test_a_sound_broker_is_ok_and_a_merely_different_one_warned_of() -> None:
    """Streams that were made with other settings work."""
    assert set(states(list(inspection_findings(SOUND))).values()) == {State.OK}
    other = Inspection(
        api_level=2, streams=9, missing=(), broken=(), different=("max_age is 1",), dead_letters=None, skew_s=None
    )  # fmt: skip
    assert states(list(inspection_findings(other))) == {"streams": State.WARNING}


def entry(worker: str, version: str) -> CatalogEntry:
    return CatalogEntry(
        tool="t", pool="default", worker=worker, version=version, discovered_ms=1, description="",
        parameters=msgspec.Raw(b"{}"),
    )  # fmt: skip


def heartbeat(instance: str, kind: str = "worker", *problems: ToolProblem) -> Heartbeat:
    return Heartbeat(instance=instance, pool="default", kind=kind, started_ms=1, problems=problems)


@pytest.mark.requirement("doctor:cures")
def test_workers_tools_and_agents_are_judged_by_what_they_tell() -> None:
    """A lost worker, two versions at once, a failed toolset and an agent's tool that nobody serves."""
    failed = ToolProblem(source="a/manifest.yaml", tool="x", code=ErrorCode.INIT_ERROR, message="crashed")
    unserved = ToolProblem(source="b.yaml:3", tool="clerk/y", code=ErrorCode.TOOL_NOT_AVAILABLE, message="nobody")
    listing = MeshListing(
        (entry("w1", "1"), entry("w2", "2")),
        (heartbeat("w1", "worker", failed), heartbeat("w2", "worker", failed), heartbeat("e", "executor", unserved)),
    )
    findings = list(listing_findings(listing, workers=3))

    assert [(one.check, one.state) for one in findings] == [
        ("workers", State.PROBLEM),
        ("tools", State.OK),
        ("versions", State.WARNING),
        ("toolset", State.PROBLEM),
        ("agent", State.PROBLEM),
    ]
    assert "2 of 3" in findings[0].detail
    assert "w1, w2" in findings[3].detail
    assert all(one.cure for one in findings if one.state is not State.OK)


def test_the_model_for_tools_is_named_or_missed() -> None:
    """An executor that says nothing of models is an older one."""
    told = [Heartbeat(instance=f"e{n}", pool="x", kind="executor", started_ms=1, model=m) for n, m in enumerate(MODELS)]
    findings = [one for one in listing_findings(MeshListing((), tuple(told)), workers=0) if one.check == "model"]
    assert [(one.state, one.detail.split(";")[0]) for one in findings] == [
        (State.OK, "tools of e0 may ask openai/small"),
        (State.SKIPPED, "none is configured on e1 for tools of agents without one"),
    ]
    assert "TOOLMESH_MODEL" in findings[1].detail


def test_a_mesh_without_tools_is_a_problem() -> None:
    """Nobody could call anything."""
    findings = list(listing_findings(MeshListing((), (heartbeat("w1"),)), workers=1))
    assert states(findings) == {"workers": State.OK, "tools": State.PROBLEM}


async def test_no_mesh_is_no_problem_but_a_killed_one_is(tmp_path: Path) -> None:
    """And one that is just starting is neither."""
    assert states(await check_mesh(tmp_path)) == {"mesh": State.SKIPPED}
    folder = DataFolder(tmp_path)
    folder.prepare()
    async with lock_folder(folder):
        assert states(await check_mesh(tmp_path)) == {"mesh": State.WARNING}
    (tmp_path / "client.json").write_text("{}")
    assert states(await check_mesh(tmp_path)) == {"mesh": State.PROBLEM}
    async with lock_folder(folder):
        assert states(await check_mesh(tmp_path)) == {"mesh": State.PROBLEM}, "its profile can't be read"


@pytest.mark.parametrize(
    ("version", "changes", "vulnerable"),
    [
        ("0.11.0", "", True),
        ("0.8.0", "fix CVE-2024-42472", True),
        ("0.11.0", "backport the fix of CVE-2026-87766", False),
        ("0.12.0", "", False),
        ("1.0", "", False),
    ],
)
def test_an_old_bubblewrap_is_warned_of_unless_it_has_the_backport(
    version: str, changes: str, *, vulnerable: bool
) -> None:
    """CVE-2026-87766, mended in 0.12."""
    assert sandbox.is_vulnerable(version, changes) is vulnerable


def test_an_old_bubblewrap_that_came_with_toolmesh_is_no_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody could act on it; one that an operator chose can be replaced."""
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho bubblewrap 0.11.0\n")
    old.chmod(0o755)
    assert sandbox.check_bwrap(SandboxSettings(bwrap=old)).state is State.WARNING
    monkeypatch.setattr(sandbox, "find_bwrap", lambda _configured, _base: old)
    shipped = sandbox.check_bwrap(SandboxSettings())
    assert shipped.state is State.OK
    assert "CVE-2026-87766" in shipped.detail


async def test_a_sandbox_that_cannot_be_had_is_told_by_profile(tmp_path: Path) -> None:
    """`prlimit-only` can't promise `restrictive`; and a bubblewrap that is not there is named."""
    weak = SandboxSettings(mode=Mode.PRLIMIT_ONLY)
    found = states(await sandbox.check_profiles(weak))
    assert found["sandbox-restrictive"] is State.PROBLEM
    assert found["sandbox-standard"] is State.OK
    finding = sandbox.check_bwrap(SandboxSettings(bwrap=tmp_path / "bwrap"))
    assert finding.state is State.PROBLEM
    assert str(tmp_path / "bwrap") in finding.detail


def test_kernel_settings_that_forbid_the_sandbox_are_named_with_their_cure(tmp_path: Path) -> None:
    """Read from a /proc of our own."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "status").write_text("Seccomp:\t0\n")
    assert [one.state for one in check_kernel(tmp_path)] == [State.OK]
    (tmp_path / "sys" / "user").mkdir(parents=True)
    (tmp_path / "sys" / "user" / "max_user_namespaces").write_text("0\n")
    (tmp_path / "self" / "status").write_text("")
    findings = list(check_kernel(tmp_path))
    assert [one.state for one in findings] == [State.PROBLEM, State.PROBLEM]
    assert "user.max_user_namespaces is 0" in findings[0].detail
    assert all(one.cure for one in findings)


def test_disk_and_interpreter_are_looked_at_where_they_are(tmp_path: Path) -> None:
    """A data folder that is not made yet counts as where it will be."""
    assert {one.check for one in check_disk(tmp_path / "not" / "yet")} == {"disk-data", "disk-work"}
    assert check_tool_python(tmp_path / "python3").state is State.PROBLEM
    assert check_tool_python().state is State.OK


async def test_the_report_is_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For programs; the exit code agrees with it."""
    code = await run_doctor(tmp_path, as_json=True)
    document = json.loads(capsys.readouterr().out)

    assert document["ok"] is (code == 0)
    assert {"python", "bwrap", "sandbox-standard", "nats-server", "mesh"} <= {
        one["check"] for one in document["findings"]
    }
    assert all(set(one) == {"check", "state", "detail", "cure"} for one in document["findings"])


async def test_the_sandbox_is_attacked_on_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--sandbox` tells of each promise of each profile, and what is missing where there is none."""
    code = await run_sandbox_test(settings_of(None), as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is (code == 0)
    assert {one["profile"] for one in document["profiles"]} == set(PROFILES)

    assert await run_sandbox_test(SandboxSettings(bwrap=tmp_path / "bwrap"), as_json=False) == 1
    assert "missing: bubblewrap" in capsys.readouterr().out


async def test_the_sandbox_is_attacked_as_a_workers_configuration_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--worker` takes mode, profile, uids and the operator's floor from the file, and the report tells the floor."""
    file = tmp_path / "worker.yaml"
    keys = "keys: {issuer: a, executors: b, sealing: c}\n"
    own = "sandbox: {floor: NO_PROC, default_profile: restrictive, bwrap: /nowhere/bwrap, uid_base: 70000, uid_count: 9}\n"
    file.write_text(f"namespace: test\ntoolsets: [tools]\n{keys}{own}")
    settings = settings_of(file)
    assert (settings.floor, settings.profiles) == (Level.NO_PROC, ("restrictive",))
    assert (settings.first_uid, settings.uid_count) == (70_000, 9)

    (tmp_path / "tools").mkdir()
    tools = "a: {executable: a, sandbox_profile: permissive}, b: {executable: b}"
    other = "c: {executable: c, sandbox_profile: standard, pool: other}"
    (tmp_path / "tools" / "manifest.yaml").write_text(f"version: 1\ntools: {{{tools}, {other}}}\n")
    assert settings_of(file).profiles == ("restrictive", "permissive"), "what the tools of its pool name, too"

    assert await run_sandbox_test(settings, as_json=True) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["floor"], document["level"], document["missing"]) == ("NO_PROC", None, "bubblewrap")
