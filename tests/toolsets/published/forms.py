"""Function tools as people write them for the published SDK: every form of the context, and what goes wrong with it."""

# mypy: ignore-errors
# ruff: noqa: UP045, D205, D417 - written as people do
import functools
from typing import Any, Optional

from sam_tool_sdk import Artifact, SandboxToolContextFacade, ToolResult


def bare(x: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


def first(ctx: SandboxToolContextFacade, x: str) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


def with_default(x: str, ctx: SandboxToolContextFacade = None) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


async def in_async(x: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


def legacy(ctx, x):
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x} {ctx.load_artifact('none')}")


def optional(x: str, ctx: Optional[SandboxToolContextFacade] = None) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


def or_none(x: str, ctx: SandboxToolContextFacade | None = None) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


def plain_default(x: str, ctx=None) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


def no_context(x: str) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"ada {x}")


def no_arguments() -> ToolResult:
    """Do it."""
    return ToolResult.ok("ada a")


def config_too(x: str, tool_config: dict, ctx: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {tool_config['letter']}")


def config_alone(x: str, tool_config: dict) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"ada {tool_config['letter']}")


def two_contexts(x: str, one: SandboxToolContextFacade, two: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{one.user_id if one is two else 'different'} {x}")


def forgotten_await(x: str, ctx: SandboxToolContextFacade) -> Any:
    """Do it."""
    return in_async(x, ctx)


def positional_only(x: str, /, ctx: SandboxToolContextFacade = None) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


class Callable:
    """Do it."""

    async def __call__(self, x: str, ctx: SandboxToolContextFacade) -> ToolResult:
        return ToolResult.ok(f"{ctx.user_id} {x}")


callable_object = Callable()


def _suffixed(x: str, suffix: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}{suffix}")


partial = functools.partial(_suffixed, suffix="")


def wrapped_first_line(x: int | None, ctx: SandboxToolContextFacade | None = None) -> ToolResult:
    """Do what takes so many words to say that the first
    sentence does not fit a line.

    Args:
        x: A number, or nothing.
    """
    return ToolResult.ok(f"{ctx.user_id} {x}")


def optional_file(doc: Optional[Artifact] = None) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"ada {doc.as_text()}")
