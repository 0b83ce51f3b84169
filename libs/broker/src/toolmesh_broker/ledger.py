"""Who runs a call, or that it was cancelled: exactly one of the two wins.

An entry is written by compare-and-set only, always with a TTL. Its attempt counts runs; deliveries do not matter.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from toolmesh_broker.errors import KeyExistsError, LeaseLostError, RevisionConflictError
from toolmesh_broker.ports import Broker, KeyValue
from toolmesh_broker.ttl import seconds_until
from toolmesh_contracts.envelopes.ledger import LedgerEntry, LedgerState
from toolmesh_contracts.wire import decode, encode

__all__ = ["KEPT_AFTER_DEADLINE_S", "Claim", "ClaimState", "Lease", "Ledger"]

KEPT_AFTER_DEADLINE_S: Final = 86_400.0
"""Entries and stored results outlive the deadline by a day, for whoever comes to ask."""

_TRIES: Final = 5

Clock = Callable[[], float]


class ClaimState(StrEnum):
    """What a worker finds when it wants to run a call."""

    FREE = "free"
    """Nobody has run it."""
    LIVE = "live"
    """Another worker runs it now."""
    DEAD = "dead"
    """A worker started it, and its lease has run out."""
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Claim:
    """A call's state at one revision."""

    state: ClaimState
    entry: LedgerEntry | None = None
    revision: int = 0


class Lease:
    """The right to run one call, for as long as it is renewed."""

    def __init__(
        self, keyvalue: KeyValue, key: str, entry: LedgerEntry, revision: int, before: Claim, clock: Clock
    ) -> None:
        self._keyvalue = keyvalue
        self._key = key
        self._before = before
        self._clock = clock
        self._revision = revision
        self.entry = entry

    @property
    def attempt(self) -> int:
        """Which run of the call this is, from 1."""
        return self.entry.attempt

    async def renew(self, lease_s: float) -> None:
        """Prolong the lease.

        Raises:
            LeaseLostError: the call was cancelled or taken over: stop running it.
        """
        entry = _running(self.entry.worker, self.entry.attempt, self.entry.deadline_ms, self._clock() + lease_s)
        self._revision = await self._write(entry)
        self.entry = entry

    async def hand_back(self) -> None:
        """Undo the claim of a call whose tool was not started; this was no attempt.

        Raises:
            LeaseLostError: the call was cancelled or taken over.
        """
        if self._before.entry is not None:
            self._revision = await self._write(self._before.entry)
            return
        try:
            await self._keyvalue.delete(self._key, self._revision)
        except RevisionConflictError:
            raise self._lost() from None

    async def _write(self, entry: LedgerEntry) -> int:
        try:
            return await self._keyvalue.update(self._key, encode(entry), self._revision, _ttl_s(entry.deadline_ms))
        except RevisionConflictError:
            raise self._lost() from None

    def _lost(self) -> LeaseLostError:
        return LeaseLostError(
            f"call {self._key} is no longer run by {self.entry.worker} (attempt {self.entry.attempt})"
        )


class Ledger:
    """The ledger of one namespace.

    Args:
        broker: Where it is kept.
        clock: Unix time in seconds, by default this machine's; clocks are expected to agree to well below a lease.
    """

    def __init__(self, broker: Broker, clock: Clock | None = None) -> None:
        self._subjects = broker.subjects
        self._keyvalue = broker.keyvalue(broker.subjects.ledger_bucket())
        self._clock = clock or time.time

    async def look(self, pool: str, invocation: str) -> Claim:
        """Return a call's state now."""
        entry = await self._keyvalue.get(self._subjects.call_key(pool, invocation))
        if entry is None:
            return Claim(ClaimState.FREE)

        recorded = decode(LedgerEntry, entry.value)
        if recorded.state is LedgerState.CANCELLED:
            state = ClaimState.CANCELLED
        elif recorded.lease_until_ms > self._clock() * 1000:
            state = ClaimState.LIVE
        else:
            state = ClaimState.DEAD
        return Claim(state, recorded, entry.revision)

    async def take(
        self, pool: str, invocation: str, claim: Claim, *, worker: str, deadline_ms: int, lease_s: float
    ) -> Lease | None:
        """Begin a run of a call that was found FREE or DEAD; None if someone else was quicker."""
        if claim.state not in (ClaimState.FREE, ClaimState.DEAD):
            raise ValueError(f"call {invocation} is {claim.state}, not free to take")

        key = self._subjects.call_key(pool, invocation)
        attempt = claim.entry.attempt + 1 if claim.entry is not None else 1
        entry = _running(worker, attempt, deadline_ms, self._clock() + lease_s)
        ttl_s = _ttl_s(deadline_ms)
        try:
            if claim.entry is None:
                revision = await self._keyvalue.create(key, encode(entry), ttl_s)
            else:
                revision = await self._keyvalue.update(key, encode(entry), claim.revision, ttl_s)
        except (KeyExistsError, RevisionConflictError):
            return None
        return Lease(self._keyvalue, key, entry, revision, claim, self._clock)

    async def cancel(self, pool: str, invocation: str, *, deadline_ms: int, reason: str = "") -> Claim:
        """Cancel a call that nobody runs.

        Returns:
            CANCELLED if no worker will start it any more; else LIVE: it runs, and the worker in the entry must be told.
        """
        key = self._subjects.call_key(pool, invocation)
        for _ in range(_TRIES):
            claim = await self.look(pool, invocation)
            if claim.state in (ClaimState.LIVE, ClaimState.CANCELLED):
                return claim

            attempt = claim.entry.attempt if claim.entry is not None else 0
            entry = LedgerEntry(
                state=LedgerState.CANCELLED, attempt=attempt, deadline_ms=deadline_ms, reason=reason[:1000]
            )
            ttl_s = _ttl_s(deadline_ms)
            try:
                if claim.entry is None:
                    revision = await self._keyvalue.create(key, encode(entry), ttl_s)
                else:
                    revision = await self._keyvalue.update(key, encode(entry), claim.revision, ttl_s)
            except (KeyExistsError, RevisionConflictError):
                continue
            return Claim(ClaimState.CANCELLED, entry, revision)
        return await self.look(pool, invocation)


def _running(worker: str, attempt: int, deadline_ms: int, lease_until_s: float) -> LedgerEntry:
    return LedgerEntry(
        state=LedgerState.RUNNING,
        attempt=attempt,
        worker=worker,
        lease_until_ms=int(lease_until_s * 1000),
        deadline_ms=deadline_ms,
    )


def _ttl_s(deadline_ms: int) -> float:
    return seconds_until(deadline_ms, KEPT_AFTER_DEADLINE_S)
