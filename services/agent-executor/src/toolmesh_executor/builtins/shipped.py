"""The built-in tools that there are."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolmesh_executor.builtins.builtin_tool import BuiltinTool
from toolmesh_executor.builtins.current_time import CURRENT_TIME
from toolmesh_executor.builtins.user_question import ASK_USER

__all__ = ["SHIPPED_TOOLS"]

SHIPPED_TOOLS: Final[Mapping[str, BuiltinTool]] = MappingProxyType(
    {tool.name: tool for tool in (CURRENT_TIME, ASK_USER)}
)
"""By name; the other names in `toolmesh_contracts.reserved` are not available yet."""
