"""Seconds of the pull protocol (ADR-9, ADR-37)."""

from dataclasses import dataclass

__all__ = ["PullTiming"]

_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PullTiming:
    """How long a pull waits at the server, and how its loss is noticed."""

    expires_s: float = 30.0
    heartbeat_s: float = 5.0
    """The server says this often that a pull still waits; two missing ones mean that it does not."""
    refused_pause_s: float = 1.0
    """Pause after the server turned a pull down, such as for a missing consumer."""
    claim_s: float = 5.0
    """For the server to answer a pull that does not wait."""
    fresh_s: float = 1.0
    """How long a queue that was found empty is taken to be empty."""
    tick_s: float = 1.0
    """How often credit and silence are looked at when nothing happens."""

    @property
    def silence_s(self) -> float:
        """Silence after which a pull is lost."""
        return 2 * self.heartbeat_s + self.tick_s

    @staticmethod
    def claim() -> dict[str, int | bool]:
        """Return the body of a pull of 1 that is answered at once, if only by "there is nothing"."""
        return {"batch": 1, "no_wait": True}

    def request(self, batch: int) -> dict[str, int]:
        """Return the body of a pull."""
        return {
            "batch": batch,
            "expires": int(self.expires_s * _NANOSECONDS),
            "idle_heartbeat": int(self.heartbeat_s * _NANOSECONDS),
        }
