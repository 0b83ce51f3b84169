"""Exactly one result is delivered, whatever workers send, how often and in which order; and what is confirmed was taken."""

import asyncio
import itertools
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.scripted_worker import ScriptedWorker, catalog_entry, echo
from tests.support.tool_client import NAMESPACE, client_settings, until, worker_broker

from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.results import StoredResults
from toolmesh_client import CallRequest, CallResult, ClientSettings, client_over
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.reply import Outcome, Result, Status, StatusState
from toolmesh_contracts.envelopes.values import Caller
from toolmesh_contracts.wire import encode

Event = tuple[str, int, int]

events = st.lists(
    st.tuples(
        st.sampled_from(["status", "result", "repeat", "other_pool", "other_call", "stored", "late"]),
        st.integers(1, 3),
        st.integers(0, 4),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def settings_of_client(tmp_path_factory: pytest.TempPathFactory) -> ClientSettings:
    return client_settings(tmp_path_factory.mktemp("client"))


@dataclass
class Story:
    """What happened to one call."""

    confirmed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    stored: str | None = None
    statuses: list[tuple[int, int]] = field(default_factory=list)
    delivered: CallResult | None = None
    newest_when_sent: dict[str, tuple[int, int]] = field(default_factory=dict)


async def tell(story: Story, arrivals: list[Event], settings_: ClientSettings) -> None:
    """Plays the arrivals against a queued call, then ends it by a cancel if it has not ended."""
    async with MemoryHub.running(NAMESPACE) as hub:
        broker = worker_broker(hub)
        entry = catalog_entry("echo")
        catalog = broker.keyvalue(broker.subjects.catalog_bucket())
        await catalog.put(broker.subjects.catalog_key("default", "echo", "worker-1"), encode(entry), 60.0)
        async with client_over(worker_broker(hub, "client"), settings_) as client:
            await until(lambda: bool(client.tools()))
            call = await client.start(CallRequest(tool="echo"))
            worker = ScriptedWorker(broker, {"echo": echo}, name="worker-1", pool="default", slots=0)
            invocation = Invocation(
                id=call.invocation,
                tool="echo",
                exposed_name="echo",
                pool="default",
                executor=settings_.executor,
                caller=Caller(user="ada", agent=""),
                deadline_ms=1,
            )
            newest, last = (
                0,
                Result(invocation=call.invocation, attempt=1, tool="echo", outcome=Outcome.OK, message="x"),
            )
            for number, (kind, attempt, seq) in zip(itertools.count(), arrivals, strict=False):
                result = msgspec.structs.replace(last, attempt=attempt, message=f"{kind} {number}")
                if kind == "status":
                    newest = max(newest, attempt) if not call.done else newest
                    await worker.reply(
                        invocation,
                        Status(
                            invocation=call.invocation,
                            attempt=attempt,
                            seq=seq,
                            state=StatusState.PROGRESS,
                            worker="worker-1",
                            at_ms=0,
                        ),
                    )
                elif kind in {"result", "repeat"}:
                    result = last if kind == "repeat" and last.message != "x" else result
                    last = result
                    story.newest_when_sent[result.message] = (result.attempt, newest)
                    accepted = await worker.offer(invocation, result)
                    (story.confirmed if accepted else story.refused).append(result.message)
                elif kind == "other_pool":
                    stranger = ScriptedWorker(broker, {}, name="w", pool="other", slots=0)
                    assert not await stranger.offer(invocation, result)
                elif kind == "other_call":
                    assert not await worker.offer(invocation, msgspec.structs.replace(result, invocation="call-x"))
                elif kind == "stored":
                    if await StoredResults(broker).store("default", result, deadline_ms=2**41):
                        story.stored = result.message
                else:
                    await asyncio.sleep(0)
            story.delivered = await (call.result() if call.done else call.cancel("the test is over"))
            again = await call.result()
            assert again is story.delivered
            story.statuses = [(status.attempt, status.seq) async for status in call.statuses()]


@settings(max_examples=60, deadline=None)
@given(arrivals=events)
@pytest.mark.requirement("call:one-result")
def test_one_result_is_delivered_whatever_arrives(settings_of_client: ClientSettings, arrivals: list[Event]) -> None:
    """Duplicates, older attempts, other pools and calls, stored and late results: one comes out, and it never changes."""
    story = Story()
    asyncio.run(tell(story, arrivals, settings_of_client))
    assert story.delivered is not None
    message = story.delivered.message
    if story.confirmed:
        # Whatever was confirmed is what the caller got: the worker has dropped everything else it had.
        assert set(story.confirmed) == {message}
    elif story.stored is not None:
        assert message == story.stored
    else:
        assert message.startswith("the call was cancelled")
    for one in set(story.confirmed):
        attempt, newest = story.newest_when_sent[one]
        assert attempt >= newest
    assert story.statuses == sorted(set(story.statuses))
