"""A requeued call's letter goes once the call has run, and its result is shown whatever becomes of the letter."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.brokers import POOL, jetstream_settings
from tests.support.nats_server import nats_server
from tests.support.signed_calls import invocation

from toolmesh_broker.dead_letters import DeadLetters
from toolmesh_broker.jetstream.broker import connect
from toolmesh_cli.dead_letters import remove_if_run
from toolmesh_cli.terminal import Terminal
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome
from toolmesh_contracts.envelopes.task import DeadLetter
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.wire import encode

RAN = CallResult(invocation="new", pool=POOL, tool="t", outcome=Outcome.OK, attempt=1)
NOT_RUN = CallResult(
    invocation="new",
    pool=POOL,
    tool="t",
    outcome=Outcome.ERROR,
    error=ErrorInfo(code=ErrorCode.BROKER_UNREACHABLE, message="gone"),
)


@pytest.mark.requirement("dead:looked-after")
async def test_letter_that_cannot_be_removed_is_told_and_takes_no_result_with_it(tmp_path: Path) -> None:
    """A warning with the command in place of an error; a call that did not run keeps its letter."""
    call = invocation()
    letter = DeadLetter(
        pool=POOL,
        subject="s",
        stream_sequence=1,
        code=ErrorCode.PERMISSION_DENIED,
        reason="r",
        at_ms=1,
        invocation=call,
    )
    async with (
        nats_server(tmp_path) as server,
        connect(jetstream_settings(server, "w")) as broker,
        broker.provisioned([POOL]),
    ):
        names = broker.subjects
        await broker.append(names.dead_stream(POOL), names.dead_letter(POOL, call.id), encode(letter), message_id="m")
        letters, said = DeadLetters(broker, (POOL,)), io.StringIO()
        found = await letters.find(call.id)

        assert not await remove_if_run(letters, found, NOT_RUN, Terminal(said))
        assert "`toolmesh result new` tells more" in said.getvalue()
        elsewhere = [replace(found[0], pool="nowhere")]
        assert not await remove_if_run(letters, elsewhere, RAN, Terminal(said))
        assert f"`toolmesh dead drop {call.id}` removes it" in said.getvalue()
        assert await letters.find(call.id) == found
        assert await remove_if_run(letters, found, RAN, Terminal(said))
        assert [kept async for kept in letters.all()] == []
