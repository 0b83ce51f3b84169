"""`toolmesh config validate`: what a file is, and all that is wrong with it."""

from pathlib import Path

import pytest
from tests.support.access_files import USERS, write_access

from toolmesh_cli.config_kinds import recognise
from toolmesh_cli.config_validate import run_config_validate
from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.toml_document import read_toml
from toolmesh_contracts.yaml_document import parse_yaml

KEYS = "keys: {issuer: a, executors: b, sealing: c}\n"
WORKER = "namespace: prod\ntoolsets: [tools]\n" + KEYS
EXECUTOR = "namespace: prod\nexecutor_id: one\nagents: [agents]\nkeys: {signing: a, issuer: b}\n"
AGENT = "agents:\n  - name: clerk\n    tools: []\n"
MANIFEST = "version: 1\ntools:\n  greet: {executable: greet}\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (WORKER, "worker"),
        ("namespace: prod\npool: web\nkeys: {sealing: x}\nconcurrency: 3\n", "worker"),
        (EXECUTOR, "executor"),
        (AGENT, "agent"),
        ("agent_name: clerk\ntools: []\n", "agent"),
        ("agent_name: clerk\ntool: []\n", "agent"),
        (MANIFEST, "manifest"),
        ("tools: {a: {}}\n", "manifest"),
        ("versoin: 1\ntools: {a: {}}\n", "manifest"),
        ("authorization_service: {}\n", "authorization"),
        ("roles: {a: {scopse: []}}\n", "roles"),
        ("users: {}\n", "users"),
    ],
)
@pytest.mark.requirement("config:validated")
def test_a_file_is_recognised_by_its_content(text: str, kind: str) -> None:
    """Also one with mistakes: that is when it is asked for."""
    assert recognise(parse_yaml(text, "x.yaml")) == kind


def test_toml_is_a_vessel(tmp_path: Path) -> None:
    """Nothing else is written in it."""
    (tmp_path / "vessel.toml").write_text("[tools]\ndeclared = []\n")
    assert recognise(read_toml(tmp_path / "vessel.toml")) == "vessel"


@pytest.mark.parametrize("text", ["", "- 1\n", "namespace: x\n", "a: 1\n"])
def test_what_could_be_anything_is_asked_about(text: str) -> None:
    """The hint names the option."""
    with pytest.raises(ConfigError) as caught:
        recognise(parse_yaml(text, "x.yaml"))
    assert "--kind" in caught.value.hint


def test_sound_files_of_every_kind_are_ok(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is told with its kind; exit code 0."""
    files = {
        "w.yaml": WORKER,
        "e.yaml": EXECUTOR,
        "a.yaml": AGENT,
        "m.yaml": MANIFEST,
        "vessel.toml": '[tools]\ndeclared = ["t.toml"]\n',
        "t.toml": 'name = "count"\ndescription = "Count."\ncommand = ["wc"]\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    assert run_config_validate([tmp_path / name for name in files], None) == 0
    lines = capsys.readouterr().out.splitlines()
    kinds = ["worker", "executor", "agent", "manifest", "vessel", "vessel"]
    assert lines == [f"ok: {tmp_path / name} ({kind})" for name, kind in zip(files, kinds, strict=True)]


@pytest.mark.requirement("access:mistakes")
def test_files_of_authorization_are_checked_alone_and_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which roles users may have, only the file that names both knows."""
    file = write_access(tmp_path, users=USERS.replace("[planner]", "[plannr]"))

    assert run_config_validate([tmp_path / "roles.yaml", tmp_path / "users.yaml"], None) == 0
    assert run_config_validate([file], None) == 2
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == [f"ok: {tmp_path / 'roles.yaml'} (roles)", f"ok: {tmp_path / 'users.yaml'} (users)"]
    assert told[2].startswith(f"{tmp_path / 'users.yaml'}:2: ")
    assert "'plannr' is not defined; did you mean 'planner'?" in told[2]


@pytest.mark.requirement("config:validated")
def test_every_problem_of_every_file_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines, nearest spellings, unset variables, failed tools of an agent, a tool defined twice; exit code 2."""
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    files = {
        "w.yaml": WORKER + "concurency: 3\nlog_level: loud\n",
        "e.yaml": EXECUTOR + "log_level: ${NO_SUCH_VARIABLE}\n",
        "a.yaml": "agents:\n  - name: clerk\n    tools:\n      - tool_type: builtn\n      - {tool_type: builtin}\n",
        "m.yaml": MANIFEST + "  other: {executable: x, poool: y}\n",
        "n.yaml": MANIFEST,
        "vessel.toml": '[tools]\ndeclared = ["gone.toml"]\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    assert run_config_validate([tmp_path / name for name in files], None) == 2
    told = capsys.readouterr().out
    for part in (
        "w.yaml:4: concurency: unknown key",
        "did you mean 'concurrency'?",
        "w.yaml:5: log_level",
        "e.yaml:5",
        "NO_SUCH_VARIABLE",
        "a.yaml:4",
        "did you mean 'builtin'?",
        "tool_name",
        "m.yaml:4: tools.other.poool",
        "'greet' of pool 'default' is also defined in",
        "gone.toml",
        "problems in 6 files",
    ):
        assert part in told, told
    assert "ok: " in told, "the second manifest has no mistake of its own"


def test_a_kind_can_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It decides over the content; one that does not exist is refused."""
    (tmp_path / "x.yaml").write_text(MANIFEST)

    assert run_config_validate([tmp_path / "x.yaml"], "worker") == 2
    assert "namespace: this key is required" in capsys.readouterr().out
    with pytest.raises(ToolmeshError, match="'wroker' is not known"):
        run_config_validate([tmp_path / "x.yaml"], "wroker")
