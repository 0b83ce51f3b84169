"""What a tool author imports: write one function, wrap it with `tool_cli`, done.

Names are loaded on first use, because a tool process lives for one call and pays for every import.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .artifacts import Artifact, ArtifactTypeInfo, get_artifact_info, is_artifact_type
    from .cli import dynamic_tool_cli, provider_cli, tool_cli
    from .config_schema import ConfigSchemaField, with_config_schema
    from .context import SandboxToolContextFacade, ToolContext
    from .dynamic_tool import DynamicTool
    from .errors import IPCError, ToolCancelledError, ToolError
    from .model_answer import ModelAnswer
    from .options import (
        VolumeMount,
        VolumeParam,
        tool_timeout,
        with_auth,
        with_dynamic_schema,
        with_instructions,
        with_raw_string_args,
        with_volume_params,
    )
    from .provider import DynamicToolProvider, register_tool
    from .results import DataDisposition, DataObject, ToolResult

__version__ = "0.1.0"

__all__ = [
    "Artifact",
    "ArtifactTypeInfo",
    "ConfigSchemaField",
    "DataDisposition",
    "DataObject",
    "DynamicTool",
    "DynamicToolProvider",
    "IPCError",
    "ModelAnswer",
    "SandboxToolContextFacade",
    "ToolCancelledError",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "VolumeMount",
    "VolumeParam",
    "dynamic_tool_cli",
    "get_artifact_info",
    "is_artifact_type",
    "provider_cli",
    "register_tool",
    "tool_cli",
    "tool_timeout",
    "with_auth",
    "with_config_schema",
    "with_dynamic_schema",
    "with_instructions",
    "with_raw_string_args",
    "with_volume_params",
]

_MODULE_OF = {
    "Artifact": "artifacts",
    "ArtifactTypeInfo": "artifacts",
    "ConfigSchemaField": "config_schema",
    "DataDisposition": "results",
    "DataObject": "results",
    "DynamicTool": "dynamic_tool",
    "DynamicToolProvider": "provider",
    "IPCError": "errors",
    "ModelAnswer": "model_answer",
    "SandboxToolContextFacade": "context",
    "ToolCancelledError": "errors",
    "ToolContext": "context",
    "ToolError": "errors",
    "ToolResult": "results",
    "VolumeMount": "options",
    "VolumeParam": "options",
    "dynamic_tool_cli": "cli",
    "get_artifact_info": "artifacts",
    "is_artifact_type": "artifacts",
    "provider_cli": "cli",
    "register_tool": "provider",
    "tool_cli": "cli",
    "tool_timeout": "options",
    "with_auth": "options",
    "with_config_schema": "config_schema",
    "with_dynamic_schema": "options",
    "with_instructions": "options",
    "with_raw_string_args": "options",
    "with_volume_params": "options",
}


def __getattr__(name: str) -> object:
    """Load a public name from its module, once."""
    module_name = _MODULE_OF.get(name)
    if module_name is None:
        raise AttributeError(f"module 'toolmesh_sdk' has no name {name!r}")
    # The C-level import, because importlib's Python half costs half a millisecond.
    module = __import__(f"{__name__}.{module_name}", fromlist=[name])
    value: object = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
