"""The protocol with one of its safeguards taken away, to show that the model would notice."""

from toolmesh_broker.ledger import Claim, ClaimState, Ledger
from toolmesh_broker.memory.bucket import Bucket
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_contracts.names import join_names

__all__ = ["ForgetfulLedger", "HubWithoutCompareAndSet"]


class _BlindBucket(Bucket):
    """Writes whatever was written before."""

    async def create(self, key: str, value: bytes, ttl_s: float | None = None) -> int:
        """Write, also over a value."""
        return await self.put(key, value, ttl_s)

    async def update(self, key: str, value: bytes, revision: int, ttl_s: float | None = None) -> int:
        """Write, also over a later value."""
        return await self.put(key, value, ttl_s)


class HubWithoutCompareAndSet(MemoryHub):
    """Its ledger compares nothing."""

    def bucket(self, name: str) -> Bucket:
        """Return a bucket; the ledger's is blind."""
        if name == join_names("TM", self.namespace, "LEDGER"):
            return self._buckets.setdefault(name, _BlindBucket(self.timers))
        return super().bucket(name)


class ForgetfulLedger(Ledger):
    """Attempts are not counted: a dead worker's is wiped out."""

    async def look(self, pool: str, invocation: str) -> Claim:
        """Return a call's state, FREE where it is DEAD."""
        claim = await super().look(pool, invocation)
        if claim.state is not ClaimState.DEAD:
            return claim
        await self._keyvalue.delete(self._subjects.call_key(pool, invocation), claim.revision)
        return Claim(ClaimState.FREE)
