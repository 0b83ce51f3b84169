"""Toolboxes around toolboxes: a prefix, a filter, several as one; each is a toolbox again."""

import pytest
from tests.support.function_tools import Progress, echoing, names_of

from toolmesh_executor.loop.filtered_toolbox import FilteredToolbox
from toolmesh_executor.loop.joined_toolbox import JoinedToolbox
from toolmesh_executor.loop.prefixed_toolbox import PrefixedToolbox
from toolmesh_executor.loop.records import ToolStarted
from toolmesh_executor.loop.toolbox import ApprovalNeeded, Toolbox, ToolOutcome


async def said(toolbox: Toolbox, name: str) -> str:
    outcome = await toolbox.call(name, b"{}", Progress())
    assert isinstance(outcome, ToolOutcome)
    return outcome.content


async def test_a_prefixed_tool_is_called_by_its_own_name_inside() -> None:
    """The model sees the prefix, the tool does not."""
    box = PrefixedToolbox(echoing("read", "write"), "fs")
    assert names_of(box.tools()) == ["fs_read", "fs_write"]
    assert await said(box, "fs_read") == "read {}"
    assert await said(box, "read") == "there is no tool 'read'; did you mean 'fs_read'?"


async def test_prefixed_names_are_legal_and_never_the_same() -> None:
    """Illegal characters and long names, however alike."""
    own = ["read.file", "read_file", "read file", "x" * 64, "x" * 63 + "y", "ö"]
    box = PrefixedToolbox(echoing(*own), "any prefix: ")
    shown = names_of(box.tools())
    assert len(set(shown)) == len(own)
    assert all(name.isascii() and name.replace("_", "").replace("-", "").isalnum() for name in shown)
    assert all(len(name) <= 64 for name in shown)
    assert [await said(box, name) for name in shown] == [f"{name} {{}}" for name in own]


@pytest.mark.parametrize(
    ("allowed", "denied", "left"),
    [
        (None, None, ["get_a", "get_b", "set_a"]),
        (("get_*",), None, ["get_a", "get_b"]),
        (("set_a", "get_b"), None, ["get_b", "set_a"]),
        ((), None, []),
        (None, ("get_?",), ["set_a"]),
        (None, ("GET_A",), ["get_a", "get_b", "set_a"]),
    ],
)
async def test_a_filter_hides_and_refuses(
    allowed: tuple[str, ...] | None, denied: tuple[str, ...] | None, left: list[str]
) -> None:
    """What is not shown can't be called either; an empty list allows nothing; letter case counts."""
    inner = echoing("get_a", "get_b", "set_a")
    box = FilteredToolbox(inner, allowed, denied)
    assert names_of(box.tools()) == left
    told = {name: await said(box, name) for name in inner.by_name}
    assert [name for name, text in told.items() if "there is no tool" not in text] == left
    assert [name for name, _ in inner.called] == left


def test_a_name_that_fits_no_tool_is_a_problem() -> None:
    """With its list and the nearest name there is."""
    inner = echoing("search", "fetch")
    assert FilteredToolbox(inner, ("serch", "fetch")).problems() == (
        "allow_list: no tool is called 'serch'; did you mean 'search'?",
    )
    assert FilteredToolbox(inner, None, ("xyz*",)).problems() == ("deny_list: no tool is called 'xyz*'",)
    assert FilteredToolbox(inner, ("*",)).problems() == ()


async def test_joined_toolboxes_are_one_and_the_first_name_wins() -> None:
    """The hidden tool is told; one box is never asked for another's tool."""
    first, second = echoing("a", "same"), echoing("same", "b")
    box = JoinedToolbox((first, second))
    assert names_of(box.tools()) == ["a", "same", "b"]
    for name in ("a", "same", "b"):
        await said(box, name)
    assert [name for name, _ in first.called] == ["a", "same"]
    assert [name for name, _ in second.called] == ["b"]
    assert box.problems() == (
        "there are two tools 'same'; the first is used: rename the other, or give its toolset a prefix",
    )


async def test_wrappers_go_around_one_another() -> None:
    """As an MCP entry has them: its own names filtered, the rest prefixed, joined with the others."""
    server = PrefixedToolbox(FilteredToolbox(echoing("search", "drop"), ("search",)), "db")
    box = JoinedToolbox((echoing("search"), server))
    assert names_of(box.tools()) == ["search", "db_search"]
    assert await said(box, "db_search") == "search {}"
    assert box.problems() == ()


async def test_approvals_and_begun_calls_pass_through_under_the_tools_own_name() -> None:
    """Whoever runs a call knows it by that name; what was begun is found though a filter hides its tool by now."""
    inner = echoing("search")
    needed = ApprovalNeeded(text="May I?", timeout_s=1, shows_arguments=True)
    inner.approvals = {"search": needed}
    prefixed = PrefixedToolbox(inner, "db")
    assert prefixed.approval("db_search", b"{}") is needed
    assert prefixed.approval("search", b"{}") is None
    hiding = FilteredToolbox(prefixed, allow_list=())
    started = ToolStarted(call="1.1", tool="db_search")
    assert hiding.began(started)
    await hiding.recover(started, b"{}")
    for name in ("db_search", "db_away"):
        await hiding.ready(name)
    assert inner.readied == ["search", "away"]
    assert inner.recovered == [("search", b"{}")]
