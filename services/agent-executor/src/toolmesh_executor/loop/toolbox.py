"""The tools of one task, whatever runs them: one interface, one kind of result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.models.turns import OfferedTool

__all__ = ["OnStatus", "ToolOutcome", "ToolView", "Toolbox"]

OnStatus = Callable[[str], None]
"""Is told each line of progress; must not wait."""


@dataclass(frozen=True, slots=True)
class ToolView:
    """What a model may know of a tool.

    Attributes:
        offered: Its name, description and parameters.
        instructions: What its author tells the model besides.
    """

    offered: OfferedTool
    instructions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """How a call ended.

    Attributes:
        content: What the model reads.
        code: Of an error.
        invocation: The call's id on the broker, if it got there.
    """

    outcome: Outcome
    content: str
    code: ErrorCode | None = None
    invocation: str = ""


class Toolbox(Protocol):
    """What one caller's agent can do."""

    def tools(self) -> tuple[ToolView, ...]:
        """Return the tools that this caller may use and that can be called now.

        Raises:
            ToolmeshError: the caller may not call the agent, or no longer.
        """

    async def call(self, name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
        """Call a tool with JSON arguments; whatever goes wrong is an outcome."""
