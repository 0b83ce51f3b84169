"""A call whose acknowledgement is not answered keeps no slot: it comes again, and is known to be settled."""

from dataclasses import dataclass

from tests.support.signed_calls import Delivered, invocation

from toolmesh_broker.errors import BrokerTimeoutError
from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.results import StoredResults
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.outcome import failed_result
from toolmesh_runtime.settlement import Settlement


@dataclass
class Forgotten(Delivered):
    """A delivery that a killed broker no longer knows of."""

    async def ack(self) -> None:
        """Note the try, and time out."""
        await super().ack()
        raise BrokerTimeoutError("no answer")


async def test_acknowledgement_that_nobody_answers_is_not_tried_again() -> None:
    """The adapter has repeated it for 15 s by then; the next delivery, here or elsewhere, is answered by the same result."""
    async with MemoryHub.running("test") as hub:
        settlement = Settlement(MemoryBroker(hub, "worker"), "me", WorkerMetrics())
        call = invocation()
        delivery = Forgotten({}, b"")
        result = failed_result(call, "me", 1, ErrorCode.EXECUTION_ERROR, "it failed")
        await settlement.settle(delivery, call, result, settlement.sender(call, 1))
        assert delivery.settled == ["ack"]
        assert await settlement.is_settled(call)
        stored = await StoredResults(MemoryBroker(hub, "another")).read(call.pool, call.id)
        assert stored is not None
        assert stored.message == "it failed"
