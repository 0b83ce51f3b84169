"""Which tool a command means, and what is said when there is none."""

from pathlib import Path

import pytest

from toolmesh_cli.author_bench import checked_profile
from toolmesh_cli.terminal import Terminal
from toolmesh_cli.tool_choice import choose_entries
from toolmesh_contracts.errors import ToolmeshError

SOUND = "  greet: {executable: greet}\n"
TYPO = "  wave: {executable: wave, timeout_second: 3}\n"


@pytest.mark.parametrize(
    ("tools", "tool", "hint"),
    [
        (TYPO, None, "correct what the warning above says"),
        (TYPO, "wave", "correct what the warning above says"),
        (TYPO + SOUND, "wave", "correct what the warning above says; or use greet"),
        (SOUND, "gret", "did you mean 'greet'?"),
        (SOUND, "x", "it has: greet"),
        ("  {}\n", None, "write one: `toolmesh tool init NAME`"),
    ],
)
def test_the_hint_says_what_to_do(
    tmp_path: Path, tools: str, tool: str | None, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tool that its manifest spoils is not there, but that is not what has to be mended."""
    (tmp_path / "manifest.yaml").write_text(f"version: 1\ntools:\n{tools}")
    with pytest.raises(ToolmeshError) as caught:
        choose_entries(tmp_path, tool, Terminal.stderr())
    assert caught.value.hint == hint
    assert ("timeout_second" in capsys.readouterr().err) == (TYPO in tools)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("declared", "use standard, restrictive, permissive"), ("stanard", "did you mean 'standard'?")],
)
def test_a_profile_that_no_manifest_may_name_is_refused(name: str, hint: str) -> None:
    """Also the one of declared tools, whose workspaces are others; the hint names only those that work."""
    with pytest.raises(ToolmeshError) as caught:
        checked_profile(name)
    assert caught.value.hint == hint
    assert checked_profile(None) is None
    assert checked_profile("restrictive") == "restrictive"
