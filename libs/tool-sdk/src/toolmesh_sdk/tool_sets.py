"""The tools of one executable: a function, a class, or a provider with many."""

from __future__ import annotations

from .calling import Awaiting, construct, takes_an_argument
from .dynamic_tool import DynamicTool
from .errors import ToolDefinitionError, UnknownToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class ToolSet(Protocol):
        """What an executable offers."""

        def all_tools(self, tool_config: dict[str, Any]) -> list[DynamicTool]:
            """Return every tool, for the schema."""

        def tool_for_call(self, name: str, tool_config: dict[str, Any]) -> ChosenTool:
            """Return the tool that a call names; raises UnknownToolError."""


class ChosenTool:
    """The tool of a call.

    Args:
        tool: The tool.
        provider: Where it comes from, whose `init` and `cleanup` run around its own; None for a single tool.
    """

    __slots__ = ("parts", "tool")

    def __init__(self, tool: DynamicTool, provider: Any = None) -> None:
        self.tool = tool
        self.parts: list[Any] = [tool] if provider is None else [provider, tool]


class SingleTool:
    """One tool, which answers whatever name the call uses, because a host may have renamed it.

    Args:
        make: Makes the tool for a tool_config.
    """

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[dict[str, Any]], DynamicTool]) -> None:
        self._make = make

    def all_tools(self, tool_config: dict[str, Any]) -> list[DynamicTool]:
        """Return the one tool."""
        return [self._make(tool_config)]

    def tool_for_call(self, name: str, tool_config: dict[str, Any]) -> ChosenTool:
        """Return the one tool."""
        return ChosenTool(self._make(tool_config))


class ProviderTools:
    """The tools of a provider class."""

    __slots__ = ("_provider_class",)

    def __init__(self, provider_class: Any) -> None:
        self._provider_class = provider_class

    def all_tools(self, tool_config: dict[str, Any]) -> list[DynamicTool]:
        """Return every tool.

        Raises:
            ToolDefinitionError: Two tools have one name, or `create_tools` returned something else.
        """
        tools = tools_of_provider(construct(self._provider_class, tool_config), tool_config)
        names = [tool.tool_name for tool in tools]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ToolDefinitionError(
                f"{self._provider_class.__name__} has two tools named {', '.join(twice)}; rename one"
            )
        return tools

    def tool_for_call(self, name: str, tool_config: dict[str, Any]) -> ChosenTool:
        """Return the tool of a name, also of the name that a dynamic schema gives it.

        Raises:
            UnknownToolError: No tool has this name; the message lists those there are.
        """
        provider = construct(self._provider_class, tool_config)
        # Registered ones first: `create_tools` may be slow, and most providers have it only because they must.
        tools = registered_tools(provider, tool_config)
        found = [tool for tool in tools if tool.tool_name == name]
        if not found:
            tools = [*tools, *created_tools(provider, tool_config)]
            found = [tool for tool in tools if tool.tool_name == name] or _renamed(tools, name, tool_config)
        if not found and not name and len(tools) == 1:
            found = tools
        if not found:
            here = ", ".join(tool.tool_name for tool in tools) or "none"
            raise UnknownToolError(f"{self._provider_class.__name__} has no tool {name!r} (it has {here})")
        return ChosenTool(found[0], provider)


def tools_of_provider(provider: Any, tool_config: dict[str, Any]) -> list[DynamicTool]:
    """Return a provider's registered and created tools."""
    return [*registered_tools(provider, tool_config), *created_tools(provider, tool_config)]


def registered_tools(provider: Any, tool_config: dict[str, Any]) -> list[DynamicTool]:
    """Return the tools made of registered functions."""
    from .function_tool import FunctionTool

    return [FunctionTool(function, tool_config, provider) for function in type(provider).registered_functions()]


def created_tools(provider: Any, tool_config: dict[str, Any]) -> list[DynamicTool]:
    """Return what `create_tools` makes: tools, or plain functions.

    Raises:
        ToolDefinitionError: It returned something else.
    """
    from .function_tool import FunctionTool

    create = provider.create_tools
    awaiting = Awaiting()
    try:
        made = awaiting.settle(create(tool_config) if takes_an_argument(create) else create())
    finally:
        awaiting.close()
    tools: list[DynamicTool] = []
    for entry in made or ():
        if isinstance(entry, DynamicTool):
            tools.append(entry)
        elif callable(entry) and not isinstance(entry, type):
            tools.append(FunctionTool(entry, tool_config, provider))
        else:
            raise ToolDefinitionError(f"create_tools returned {entry!r}, which is neither a DynamicTool nor a function")
    return tools


def _renamed(tools: list[DynamicTool], name: str, tool_config: dict[str, Any]) -> list[DynamicTool]:
    from .describe import schema_override

    return [tool for tool in tools if name and schema_override(tool, tool_config).get("name") == name]
