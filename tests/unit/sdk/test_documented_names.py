"""The page about the SDK names all that a tool can use, and nothing else."""

import re
from pathlib import Path

import toolmesh_sdk

_PAGE = (Path(__file__).parents[3] / "docs" / "tool-sdk.md").read_text(encoding="utf-8")
_WORDS = set(re.findall(r"[A-Za-z_]+", _PAGE))
_INTERNAL = {"for_invocation", "close", "auth_token"}
"""Called by the SDK itself; the token is documented by its method."""


def test_every_public_name_is_on_the_page() -> None:
    """Also the next one that somebody adds."""
    assert {name for name in toolmesh_sdk.__all__ if name not in _WORDS} == set()


def test_every_method_of_the_context_is_on_the_page() -> None:
    """Methods, properties and what is set at its making."""
    context = toolmesh_sdk.ToolContext()
    public = {name for name in dir(context) if not name.startswith("_")} - _INTERNAL
    assert {name for name in public if name not in _WORDS} == set()


def test_what_the_page_says_of_the_context_exists() -> None:
    """The first column of its table."""
    section = _PAGE.split("## The context")[1].split("##")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = {re.match(r"[a-z_]+", code)[0] for cell in cells for code in re.findall(r"`([^`]+)`", cell)}  # type: ignore[index]
    assert len(named) > 25
    assert {name for name in named - {"ctx"} if not hasattr(toolmesh_sdk.ToolContext(), name)} == set()
