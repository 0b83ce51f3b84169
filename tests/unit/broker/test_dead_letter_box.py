"""Dead letters are found by their id, all of them, whatever a broken worker wrote."""

import pytest
from tests.support.signed_calls import invocation

from toolmesh_broker.dead_letters import DeadLetters
from toolmesh_broker.errors import DeadLetterMissingError
from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_contracts.envelopes.task import DeadLetter
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.wire import encode


async def put(broker: MemoryBroker, pool: str, identity: str, body: bytes, message_id: str) -> None:
    """Write as a worker does."""
    names = broker.subjects
    await broker.append(names.dead_stream(pool), names.dead_letter(pool, identity), body, message_id=message_id)


async def test_letters_of_all_pools_are_found_and_dropped_one_by_one() -> None:
    """Two of one id are both found, the oldest first; what was dropped is gone, and dropping it again says so."""
    call = invocation()
    letter = DeadLetter(
        pool="a", subject="s", stream_sequence=1, code=ErrorCode.PERMISSION_DENIED, reason="r", at_ms=1, invocation=call
    )
    async with MemoryHub.running("test") as hub:
        broker = MemoryBroker(hub, "operator")
        letters = DeadLetters(broker, ("a", "b"))
        for number in range(2):
            await put(broker, "a", call.id, encode(letter), f"m{number}")
        await put(broker, "b", "unknown-7", encode(letter), "m2")
        assert [(kept.id, kept.pool) async for kept in letters.all()] == [
            (call.id, "a"),
            (call.id, "a"),
            ("unknown-7", "b"),
        ]
        first, second = await letters.find(call.id)
        assert first.sequence < second.sequence
        assert await letters.drop(first)
        assert not await letters.drop(first)
        assert [kept.sequence for kept in await letters.find(call.id)] == [second.sequence]
        with pytest.raises(DeadLetterMissingError, match="pool a or b"):
            await letters.find("other")


async def test_what_is_no_letter_is_shown_as_such() -> None:
    """It can be seen and dropped like the others, and it hides none of them."""
    async with MemoryHub.running("test") as hub:
        broker = MemoryBroker(hub, "operator")
        await put(broker, "a", "junk", b"\xff no json", "m")
        [kept] = [kept async for kept in DeadLetters(broker, ("a",)).all()]
        assert kept.id == "junk"
        assert "no dead letter" in kept.letter.reason
        assert kept.letter.body == b"\xff no json"
