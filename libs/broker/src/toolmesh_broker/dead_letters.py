"""Messages that nobody will run: kept with the reason, then taken out of the queue."""

import time

from toolmesh_broker.ports import Broker, Delivery
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.task import DeadLetter
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.headers import SCHEMA, SIGNATURE, TOKEN
from toolmesh_contracts.wire import encode, schema_name

__all__ = ["bury"]

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
    identity = invocation.id if invocation is not None else f"unknown-{delivery.sequence}"
    await broker.append(
        broker.subjects.dead_stream(pool),
        broker.subjects.dead_letter(pool, identity),
        encode(letter),
        message_id=f"dead.{delivery.stream}.{delivery.sequence}",
        headers={SCHEMA: schema_name(DeadLetter)},
    )
    await delivery.term(f"{code}: {reason}")
