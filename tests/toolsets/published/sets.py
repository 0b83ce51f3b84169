"""Class tools and providers for the published SDK."""

# mypy: ignore-errors
# ruff: noqa: RUF012 - written as people do
from typing import Any

from sam_tool_sdk import DynamicTool, DynamicToolProvider, SandboxToolContextFacade, ToolResult


class ClassTool(DynamicTool):
    tool_name = "class_tool"
    tool_description = "Do it."
    parameters_schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}

    async def _run_async_impl(self, args: dict, tool_context: Any = None, credential: Any = None) -> ToolResult:
        return ToolResult.ok(f"{tool_context.user_id} {args['x']}")


class SyncClassTool(ClassTool):
    tool_name = "sync_class_tool"

    def _run_async_impl(self, args: dict, tool_context: Any = None, credential: Any = None) -> ToolResult:
        return ToolResult.ok(f"{tool_context.user_id} {args['x']} {self.tool_config['letter']}")


class Provider(DynamicToolProvider):
    def create_tools(self, tool_config: Any = None) -> list[DynamicTool]:
        return [SyncClassTool(tool_config)]


class ForgetfulProvider(DynamicToolProvider):
    def create_tools(self, tool_config: Any = None) -> None:
        return None


@Provider.register_tool
async def plain(self, x: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


@Provider.register_tool
async def injected_config(self, x: str, tool_config: dict, tool_context: Any = None) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{tool_context.user_id} {tool_config['letter']}")


@Provider.register_tool
def synchronous(self, x: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


@Provider.register_tool
async def or_none(self, x: str, ctx: SandboxToolContextFacade | None = None) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


@Provider.register_tool
async def own_config(self, x: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {self.tool_config['letter']}")


@Provider.register_tool
async def without_self(x: str, ctx=None) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")


@ForgetfulProvider.register_tool
async def forgetful(self, x: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Do it."""
    return ToolResult.ok(f"{ctx.user_id} {x}")
