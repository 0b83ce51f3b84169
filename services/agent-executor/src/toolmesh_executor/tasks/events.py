"""A task's records as events on the broker."""

import time
from dataclasses import dataclass
from typing import Final

import msgspec

from toolmesh_broker.ports import StoredMessage
from toolmesh_contracts.envelopes.task import TaskEvent
from toolmesh_contracts.errors import MalformedMessageError
from toolmesh_contracts.wire import decode, encode
from toolmesh_executor.loop.records import Record

__all__ = ["ReadEvent", "read_event", "written_event"]

_DECODER: Final[msgspec.json.Decoder[Record]] = msgspec.json.Decoder(Record)
_ENCODER: Final = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class ReadEvent:
    """A record with its place.

    Attributes:
        sequence: In the stream.
        number: In its task, from 1 without a gap.
        at_ms: Unix time in milliseconds.
        executor: Who wrote it.
        record: What happened.
    """

    sequence: int
    number: int
    at_ms: int
    executor: str
    record: Record


def written_event(task: str, number: int, executor: str, record: Record) -> bytes:
    """Return the event of a record that happens now."""
    return encode(
        TaskEvent(
            task=task,
            seq=number,
            at_ms=time.time_ns() // 1_000_000,
            executor=executor,
            record=msgspec.Raw(_ENCODER.encode(record)),
        )
    )


def read_event(message: StoredMessage) -> ReadEvent:
    """Return a stored event.

    Raises:
        MalformedMessageError: it is none that this build knows.
    """
    event = decode(TaskEvent, message.body)
    try:
        record = _DECODER.decode(event.record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedMessageError(
            f"event {event.seq} of task {event.task} can't be read: {error}",
            hint="a newer version of toolmesh may have written it",
        ) from error
    return ReadEvent(message.sequence, event.seq, event.at_ms, event.executor, record)
