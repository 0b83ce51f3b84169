"""What JetStream writes into the reply subject of a delivered message (ADR-15)."""

from dataclasses import dataclass

__all__ = ["AckSubject"]

_PREFIX = "$JS.ACK."
_SHORT_TOKENS = 9
_OFFSET_WITH_DOMAIN = 2


@dataclass(frozen=True, slots=True)
class AckSubject:
    """Where a delivery comes from."""

    stream: str
    consumer: str
    delivered: int
    sequence: int
    timestamp_ns: int
    pending: int
    """Messages of the consumer still to be delivered."""

    @classmethod
    def parse(cls, subject: str) -> "AckSubject | None":
        """Split a reply subject, with or without a domain; None if it is of another kind."""
        if not subject.startswith(_PREFIX):
            return None
        parts = subject.split(".")
        if len(parts) < _SHORT_TOKENS:
            return None
        first = 2 if len(parts) == _SHORT_TOKENS else 2 + _OFFSET_WITH_DOMAIN
        stream, consumer, delivered, sequence, _consumer_sequence, timestamp, pending = parts[first : first + 7]
        return cls(stream, consumer, int(delivered), int(sequence), int(timestamp), int(pending))
