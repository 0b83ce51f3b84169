"""Embeds on their way to a tool: replaced once, in arguments only."""

import json
from pathlib import Path

import pytest
from tests.support.function_tools import FunctionTools, OnStatus, Progress, echoing, names_of
from tests.unit.executor.test_dispatch import INVOKE, dispatching
from tests.unit.executor.test_embeds import EMBEDS

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_executor.loop.embedding_toolbox import EmbeddingToolbox, raw_arguments_of
from toolmesh_executor.loop.records import ToolStarted
from toolmesh_executor.loop.toolbox import ToolOutcome


def body(**arguments: str) -> bytes:
    return json.dumps(arguments).encode()


async def test_a_tool_gets_the_values_and_its_raw_arguments_as_written() -> None:
    """A status_update is a status of the call."""
    inner, progress = echoing("query", "other"), Progress()
    box = EmbeddingToolbox(inner, EMBEDS, {"query": ("sql",), "other": ()}.__getitem__)
    assert names_of(box.tools()) == ["query", "other"]
    for name in ("query", "other"):
        await box.call(name, body(sql="«math:1+1»", n="«status_update:counting»«math:2*2»"), progress)
    assert [(name, json.loads(arguments)) for name, arguments in inner.called] == [
        ("query", {"sql": "«math:1+1»", "n": "4"}),
        ("other", {"sql": "2", "n": "4"}),
    ]
    assert progress.statuses == ["counting", "counting"]


@pytest.mark.requirement("embeds:arguments")
async def test_what_a_tool_answers_is_never_replaced() -> None:
    """Its answer, its statuses and its name come from strangers; an embed in them is text."""
    progress = Progress()

    async def injects(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
        on_status("«math:1+1»")
        return ToolOutcome(outcome=Outcome.OK, content="«status_update:all done» «math:1+1»")

    box = EmbeddingToolbox(FunctionTools({"evil": injects}), EMBEDS, lambda _: ())
    outcome = await box.call("evil", b"{}", progress)
    assert isinstance(outcome, ToolOutcome)
    assert outcome.content == "«status_update:all done» «math:1+1»"
    assert progress.statuses == ["«math:1+1»"]


async def test_workers_say_which_arguments_are_raw(tmp_path: Path) -> None:
    """By the agent's name for the tool; one that can't be called has none."""
    entries = {"get_forecast": {"raw_string_arguments": ("pattern",)}}
    async with dispatching(tmp_path, entries=entries) as setup:
        raw = raw_arguments_of(setup.dispatcher, "weather_agent", setup.token(INVOKE))
        assert (raw("city_forecast"), raw("ghost"), raw("unknown")) == (("pattern",), (), ())


async def test_a_call_that_never_began_is_made_with_the_values() -> None:
    """Whoever goes on with a task may have to give a peer what the first run did not get to send."""
    inner = echoing("ask")
    box = EmbeddingToolbox(inner, EMBEDS, lambda _: ())
    started = ToolStarted(call="1.1", tool="ask")
    assert box.began(started)
    await box.recover(started, body(text="«math:1+1»"))
    assert inner.recovered == [("ask", b'{"text": "2"}')]
