"""Function tools in modules whose annotations are text."""

# mypy: ignore-errors
# ruff: noqa: UP006, UP035, UP045 - written as people do
from __future__ import annotations

from typing import List, Optional

from sam_tool_sdk import Artifact, SandboxToolContextFacade, ToolResult


def number(x: int, ctx: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x + 1}")


def optional_context(x: str, ctx: Optional[SandboxToolContextFacade] = None) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


def two_contexts(x: str, one: SandboxToolContextFacade, two: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{one.user_id if one is two else 'different'} {x}")


def files(docs: List[Artifact], ctx: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {' '.join(doc.as_text() for doc in docs)}")
