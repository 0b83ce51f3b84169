"""Results that nobody confirmed: stored once, the first wins."""

from toolmesh_broker.errors import KeyExistsError
from toolmesh_broker.ledger import KEPT_AFTER_DEADLINE_S
from toolmesh_broker.ports import Broker
from toolmesh_broker.ttl import seconds_until
from toolmesh_contracts.envelopes.reply import Result
from toolmesh_contracts.wire import decode, encode

__all__ = ["StoredResults"]


class StoredResults:
    """The results bucket of one namespace."""

    def __init__(self, broker: Broker) -> None:
        self._subjects = broker.subjects
        self._keyvalue = broker.keyvalue(broker.subjects.result_bucket())

    async def store(self, pool: str, result: Result, *, deadline_ms: int) -> bool:
        """Keep a result; False if the call has one already, which stays.

        Raises:
            PayloadTooLargeError: put large data behind a claim check first.
        """
        key = self._subjects.call_key(pool, result.invocation)
        try:
            await self._keyvalue.create(key, encode(result), seconds_until(deadline_ms, KEPT_AFTER_DEADLINE_S))
        except KeyExistsError:
            return False
        return True

    async def read(self, pool: str, invocation: str) -> Result | None:
        """Return a call's stored result."""
        entry = await self._keyvalue.get(self._subjects.call_key(pool, invocation))
        return decode(Result, entry.value) if entry is not None else None
