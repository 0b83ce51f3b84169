"""What a person reads before agreeing to a call: the template of the agent's file over the call's arguments."""

import json
from typing import Any, Final

from toolmesh_contracts.agent_config.entries import Approval
from toolmesh_executor.loop.toolbox import ApprovalNeeded

__all__ = ["approval_needed", "approval_text"]

_LOOPS: Final = 1_000
_OUTPUT: Final = 4_096
_VARIABLES: Final = 65_536
"""Bytes of what a template keeps in variables of its own."""


def approval_needed(approval: Approval | None, tool: str, arguments: bytes) -> ApprovalNeeded | None:
    """Return what a person must agree to before a call; None if nobody has to. Arguments as `approval_text`."""
    if approval is None:
        return None
    text = approval_text(approval, tool, arguments)
    return ApprovalNeeded(text=text, timeout_s=approval.timeout, shows_arguments=approval.show_args)


def approval_text(approval: Approval, tool: str, arguments: bytes) -> str:
    """Return the question; a template that can't be used gives the plain one, which says why.

    Args:
        approval: What the agent's file says; its message is a Liquid template.
        tool: The tool's name.
        arguments: A JSON object.
    """
    plain = f"May the agent call {tool}?"
    if approval.approval_message is None:
        return plain
    # Only agents with templates pay for its import.
    from liquid import Environment
    from liquid.exceptions import LiquidError

    class Bounded(Environment):
        loop_iteration_limit = _LOOPS
        output_stream_limit = _OUTPUT
        local_namespace_limit = _VARIABLES

    try:
        values: dict[str, Any] = json.loads(arguments or b"{}")
        return str(Bounded().from_string(approval.approval_message).render(values)).strip() or plain
    except (LiquidError, RecursionError, TypeError, ValueError) as error:
        return f"{plain} (its approval_message can't be used: {error})"
