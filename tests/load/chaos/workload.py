"""The calls that executors make, drawn from a seed."""

import random
from dataclasses import dataclass

from toolmesh_contracts.names import Lane

__all__ = ["TENANTS", "TOOLS", "PlannedCall", "draw_call"]

TENANTS = tuple((f"agent-{agent}", f"user-{user}") for agent in range(2) for user in range(4))
TOOLS = {"once": 1, "again": 3}
"""Most runs of a call of each tool."""
_DEADLINE_S = 60.0
_SHORT_DEADLINE_S = 4.0
_LARGE_BYTES = 400 * 1024
"""Above what travels in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """One call to make.

    Attributes:
        tool: Its tool.
        arguments: For the tool.
        tenant: Index into TENANTS.
        lane: Urgency.
        timeout_s: Until its deadline.
        cancel_after_s: When the caller loses interest; None: never.
        pause_s: Before the next call.
    """

    tool: str
    arguments: dict[str, object]
    tenant: int
    lane: Lane
    timeout_s: float
    cancel_after_s: float | None
    pause_s: float


def draw_call(chance: random.Random) -> PlannedCall:
    """Draw one: most are short and well-behaved, some long, large, failing, cancelled or short of time."""
    arguments: dict[str, object] = {}
    kind = chance.random()
    if kind < 0.12:
        arguments["after"] = round(chance.uniform(2.2, 6.0), 2)
    elif kind < 0.18:
        arguments["before"] = round(chance.uniform(2.2, 5.0), 2)
    elif kind < 0.5:
        arguments["after"] = round(chance.uniform(0.05, 0.8), 2)
    if chance.random() < 0.05:
        arguments["fail"] = True
    if chance.random() < 0.04:
        arguments["bytes"] = _LARGE_BYTES
    return PlannedCall(
        tool="once" if chance.random() < 0.65 else "again",
        arguments=arguments,
        tenant=chance.randrange(len(TENANTS)),
        lane=chance.choice(list(Lane)),
        timeout_s=_SHORT_DEADLINE_S if chance.random() < 0.03 else _DEADLINE_S,
        cancel_after_s=chance.uniform(0, 3) if chance.random() < 0.06 else None,
        pause_s=chance.uniform(0, 0.4),
    )
