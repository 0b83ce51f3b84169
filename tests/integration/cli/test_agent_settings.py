"""`toolmesh config validate` of agent files together with the manifests of their tools, asked in a real sandbox."""

from pathlib import Path

import pytest

from toolmesh_cli.config_validate import run_config_validate

SECRETIVE = """
from toolmesh_sdk import ConfigSchemaField, tool_cli, with_config_schema

@with_config_schema([ConfigSchemaField("api_key", secret=True, required=True), ConfigSchemaField("limit", type="integer")])
def look(city: str) -> str:
    "Look a city up."
    return city

cli = tool_cli(look)
if __name__ == "__main__":
    cli()
"""
AGENT = """agents:
  - name: clerk
    tools:
      - {tool_type: builtin, tool_name: look, tool_config: SETTINGS}
      - {tool_type: builtin, tool_name: of_elsewhere, tool_config: {apikey: x}}
      - {tool_type: builtin, tool_name: broken, tool_config: {apikey: x}}
"""


@pytest.mark.parametrize(
    ("settings", "code", "told"),
    [
        ("{apikey: hunter2, limit: many}", 2, "'api_key' is required; 'limit' is not of type integer; did you mean"),
        ("{api_key: hunter2, limt: 3}", 0, "AGENT:4: the tool declares no setting 'limt'; did you mean 'limit'?"),
        ("{_str_binary: look, api_key: hunter2, limit: 3}", 0, ""),
    ],
)
@pytest.mark.requirement("tool:settings")
def test_settings_are_checked_where_the_manifest_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: str, code: int, told: str
) -> None:
    """By line, without values; tools that are not there, or can't be asked, are no problem of the agent's file."""
    (tmp_path / "look.py").write_text(SECRETIVE)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text("version: 1\ntools: {look: {executable: look}, broken: {executable: broken}}\n")
    agent = tmp_path / "agent.yaml"
    agent.write_text(AGENT.replace("SETTINGS", settings))

    assert run_config_validate([agent, manifest], None) == code
    output = capsys.readouterr()
    assert told.replace("AGENT", str(agent)) in output.out + output.err
    assert (f"{agent}:4: " in output.out) == (code != 0)
    assert "hunter2" not in output.out + output.err
    assert run_config_validate([agent], None) == 0


def test_manifest_may_have_any_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that does not end in .yaml holds the same tools."""
    (tmp_path / "look.py").write_text(SECRETIVE)
    manifest = tmp_path / "tools.json"
    manifest.write_text('{"version": 1, "tools": {"look": {"executable": "look"}}}')
    agent = tmp_path / "agent.yaml"
    agent.write_text(AGENT.replace("SETTINGS", "{}"))

    assert run_config_validate([agent, manifest], None) == 2
    assert "'api_key' is required" in capsys.readouterr().out
