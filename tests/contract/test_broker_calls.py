"""Stored results, claim checks and dead letters behave alike on JetStream and in memory."""

import asyncio
from pathlib import Path

import pytest
from tests.support.brokers import BROKER_KINDS, POOL, brokers_of_kind, deadline_in, outgoing

from toolmesh_broker.claim_check import INLINE_LIMIT_BYTES, check_in, check_out
from toolmesh_broker.dead_letters import bury
from toolmesh_broker.errors import PayloadTooLargeError
from toolmesh_broker.results import StoredResults
from toolmesh_contracts.envelopes.reply import Outcome, Result
from toolmesh_contracts.errors import ErrorCode

pytestmark = pytest.mark.parametrize("kind", BROKER_KINDS)

CALL = "call-1"


def _result(message: str = "done", attempt: int = 1) -> Result:
    return Result(invocation=CALL, attempt=attempt, tool="t", outcome=Outcome.OK, message=message)


@pytest.mark.requirement("call:confirm-or-store")
async def test_the_first_stored_result_stays(kind: str, tmp_path: Path) -> None:
    """Stored once: a second result of the call changes nothing."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        results = StoredResults(broker)
        assert await results.read(POOL, CALL) is None
        assert await results.store(POOL, _result("first"), deadline_ms=deadline_in(60)) is True
        assert await results.store(POOL, _result("second"), deadline_ms=deadline_in(60)) is False
        assert await results.read(POOL, CALL) == _result("first")


async def test_only_large_contents_go_through_the_store(kind: str, tmp_path: Path) -> None:
    """256 KiB travel inline; one byte more is a reference, read back with a limit."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        store = broker.payloads(POOL)
        assert await check_in(store, "x", b"a" * INLINE_LIMIT_BYTES, 60) is None
        content = b"a" * (INLINE_LIMIT_BYTES + 1)
        ref = await check_in(store, "x", content, 60)
        assert ref is not None
        assert await check_out(store, ref, max_bytes=len(content)) == content
        with pytest.raises(PayloadTooLargeError):
            await check_out(store, ref, max_bytes=len(content) - 1)


@pytest.mark.requirement("call:dead-letters")
@pytest.mark.parametrize("size", [8, 1_040_000])
async def test_a_buried_call_leaves_the_queue(kind: str, size: int, tmp_path: Path) -> None:
    """Moved to the dead letters, the call is not delivered again and can't be withdrawn; also one of the largest size."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        receipt = await broker.publish_invocation(outgoing(b"not json".ljust(size), invocation=CALL))
        async with broker.consume(POOL, lambda: 1) as intake, asyncio.timeout(10):
            delivery = await anext(intake)
            await bury(broker, POOL, delivery, code=ErrorCode.INVALID_REQUEST, reason="no JSON", worker="w")
        assert await broker.delete_invocation(receipt) is False
