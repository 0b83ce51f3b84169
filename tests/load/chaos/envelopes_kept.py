"""What an executor keeps of its open calls, so that a successor can go on with them: an agent's checkpoint in small."""

from pathlib import Path

import msgspec

from toolmesh_broker.ports import OutgoingInvocation

__all__ = ["KeptEnvelope", "KeptEnvelopes"]


class KeptEnvelope(msgspec.Struct, frozen=True):
    """An envelope and its tool."""

    tool: str
    pool: str
    subject: str
    invocation: str
    body: bytes
    deadline_ms: int
    headers: dict[str, str]

    def outgoing(self) -> OutgoingInvocation:
        """Return it as it was published."""
        return OutgoingInvocation(
            pool=self.pool,
            subject=self.subject,
            invocation=self.invocation,
            body=self.body,
            deadline_ms=self.deadline_ms,
            headers=self.headers,
        )


class KeptEnvelopes:
    """A folder with one file for each open call, which appears whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def keep(self, call: OutgoingInvocation, tool: str) -> None:
        """Keep an envelope before it is published."""
        kept = KeptEnvelope(
            tool=tool,
            pool=call.pool,
            subject=call.subject,
            invocation=call.invocation,
            body=call.body,
            deadline_ms=call.deadline_ms,
            headers=dict(call.headers),
        )
        partial = self._folder / f".{call.invocation}"
        partial.write_bytes(msgspec.json.encode(kept))
        partial.rename(self._folder / call.invocation)

    def forget(self, invocation: str) -> None:
        """Remove one whose result is kept."""
        (self._folder / invocation).unlink(missing_ok=True)

    def all(self) -> list[KeptEnvelope]:
        """Return those of open calls, the oldest first."""
        names = sorted(path.name for path in self._folder.iterdir() if not path.name.startswith("."))
        return [msgspec.json.decode((self._folder / name).read_bytes(), type=KeptEnvelope) for name in names]
