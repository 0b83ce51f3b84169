"""The turns of agents that call declared tools: one call at a time, to the worker that has the turn's workspace."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.values import Caller, WorkspaceCopy

__all__ = ["Turn", "TurnKey", "Turns"]

_REMEMBERED: Final = 10_000

TurnKey = tuple[str, Caller, str]
"""Pool, caller and the turn's own name: another caller's turn of the same name is another turn."""


@dataclass(slots=True)
class Turn:
    """What is known of one turn.

    Attributes:
        gate: Held by the turn's one call that is under way.
        worker: Who ran the last call; empty before the first.
        workspace: How that call left the workspace.
    """

    gate: asyncio.Lock = field(default_factory=asyncio.Lock)
    worker: str = ""
    workspace: WorkspaceCopy | None = None

    def ended(self, result: CallResult) -> None:
        """Remember how a call of this turn ended; one that left no workspace changes nothing."""
        if result.workspace is not None:
            self.worker, self.workspace = result.worker, result.workspace


class Turns:
    """The latest turns of one client."""

    def __init__(self) -> None:
        self._turns: OrderedDict[TurnKey, Turn] = OrderedDict()

    def of(self, key: TurnKey) -> Turn:
        """Return what is known of a turn; a new one if nothing is."""
        turn = self._turns.setdefault(key, Turn())
        self._turns.move_to_end(key)
        while len(self._turns) > _REMEMBERED:
            self._turns.popitem(last=False)
        return turn
