"""The ledger's entries: exactly one of run and cancel wins a call."""

from enum import StrEnum
from typing import Annotated

import msgspec

from toolmesh_contracts.envelopes.values import Milliseconds

__all__ = ["LedgerEntry", "LedgerState"]


class LedgerState(StrEnum):
    """There is no "accepted": the stream is the acceptance."""

    RUNNING = "running"
    CANCELLED = "cancelled"


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Value of ledger key `<pool>.<invocation>`."""

    state: LedgerState
    attempt: Annotated[int, msgspec.Meta(ge=0)]
    """How often the tool was started; 0 for a call cancelled in the queue."""
    worker: str = ""
    lease_until_ms: Milliseconds = 0
    """Unix time in milliseconds after which the worker counts as dead."""
    deadline_ms: Milliseconds
    reason: str = ""
