"""Messages that nobody will run: kept with the reason, then taken out of the queue; and how to look at them."""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from toolmesh_broker.errors import DeadLetterMissingError
from toolmesh_broker.ports import Broker, Delivery, StoredMessage
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.task import DeadLetter
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.headers import SCHEMA, SIGNATURE, TOKEN
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_contracts.wire import decode, encode, schema_name

__all__ = ["DeadLetters", "KeptLetter", "bury"]

_SECRET_HEADERS = frozenset({TOKEN.lower(), SIGNATURE.lower()})
_KEPT_BODY_BYTES = 512 * 1024


async def bury(
    broker: Broker,
    pool: str,
    delivery: Delivery,
    *,
    code: ErrorCode,
    reason: str,
    worker: str = "",
    invocation: Invocation | None = None,
) -> None:
    """Move a delivery to the dead letters; it leaves the queue only after it is stored there.

    Args:
        broker: The worker's connection.
        pool: The queue it came from.
        delivery: The message.
        code: Why, for programs.
        reason: Why, for people.
        worker: Who decided.
        invocation: The decoded call; without it the body is kept as it came.

    Raises:
        BrokerError: not moved; it will be delivered again.
    """
    letter = DeadLetter(
        pool=pool,
        subject=delivery.subject,
        stream_sequence=delivery.sequence,
        code=code,
        reason=reason,
        at_ms=int(time.time() * 1000),
        worker=worker,
        invocation=invocation,
        body=None if invocation is not None else delivery.body[:_KEPT_BODY_BYTES],
        headers={name: value for name, value in delivery.headers.items() if name.lower() not in _SECRET_HEADERS},
    )
    # A direct call was in no stream.
    place = str(delivery.sequence) if delivery.sequence else new_invocation_id()
    identity = invocation.id if invocation is not None else f"unknown-{place}"
    await broker.append(
        broker.subjects.dead_stream(pool),
        broker.subjects.dead_letter(pool, identity),
        encode(letter),
        message_id=f"dead.{delivery.stream}.{place}",
        headers={SCHEMA: schema_name(DeadLetter)},
    )
    await delivery.term(f"{code}: {reason}")


@dataclass(frozen=True, slots=True)
class KeptLetter:
    """A dead letter in its place.

    Attributes:
        id: Of the call, or `unknown-<n>` for a message that could not be read.
        pool: The pool whose queue it was in: that of the stream, whatever the letter says.
    """

    id: str
    pool: str
    sequence: int
    letter: DeadLetter


class DeadLetters:
    """The dead letters of some pools.

    Args:
        broker: A connection of an identity that may read and remove them.
        pools: The pools to look at.
    """

    def __init__(self, broker: Broker, pools: tuple[str, ...]) -> None:
        self._broker = broker
        self._pools = pools

    async def all(self) -> AsyncIterator[KeptLetter]:
        """Yield every letter, pool by pool, the oldest first.

        Raises:
            BrokerError: the broker does not answer, or refuses.
        """
        for pool in self._pools:
            async for kept in self._matching(pool, self._broker.subjects.dead_pool(pool)):
                yield kept

    async def find(self, identity: str) -> tuple[KeptLetter, ...]:
        """Return the letters with this id, the oldest first: a call that was recorded and sent again has several.

        Raises:
            DeadLetterMissingError: there is none.
            BrokerError: the broker does not answer, or refuses.
        """
        found = [
            kept
            for pool in self._pools
            async for kept in self._matching(pool, self._broker.subjects.dead_letter(pool, identity))
        ]
        if not found:
            raise DeadLetterMissingError(identity, self._pools)
        return tuple(found)

    async def drop(self, kept: KeptLetter) -> bool:
        """Remove a letter; False if it is gone.

        Raises:
            BrokerError: the broker does not answer, or refuses.
        """
        return await self._broker.delete_stored(self._broker.subjects.dead_stream(kept.pool), kept.sequence)

    async def _matching(self, pool: str, pattern: str) -> AsyncIterator[KeptLetter]:
        stream = self._broker.subjects.dead_stream(pool)
        message = await self._broker.next_stored(stream, pattern)
        while message is not None:
            yield KeptLetter(message.subject.rpartition(".")[2], pool, message.sequence, _read(pool, message))
            message = await self._broker.next_stored(stream, pattern, after=message.sequence)


def _read(pool: str, message: StoredMessage) -> DeadLetter:
    """Read a letter; for one that is none, as of a broken worker, return a letter that says so."""
    try:
        return decode(DeadLetter, message.body)
    except ToolmeshError as error:
        return DeadLetter(
            pool=pool,
            subject=message.subject,
            stream_sequence=0,
            code=error.code,
            reason=f"this is no dead letter: {error.message}",
            at_ms=0,
            body=message.body,
        )
