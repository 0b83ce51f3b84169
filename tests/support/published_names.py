"""What tools may import of the published SDK."""

PUBLISHED_NAMES = [
    "Artifact",
    "ArtifactTypeInfo",
    "ConfigSchemaField",
    "DataDisposition",
    "DataObject",
    "DynamicTool",
    "DynamicToolProvider",
    "IPCError",
    "SandboxToolContextFacade",
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
    "with_config_schema",
    "with_dynamic_schema",
    "with_volume_params",
]

PUBLISHED_MODULES = {
    "cli": "provider_cli",
    "tool_result": "ToolResult",
    "artifact_types": "Artifact",
    "context_facade": "SandboxToolContextFacade",
    "config_schema": "ConfigSchemaField",
    "tool_options": "VolumeMount",
    "dynamic_tool": "DynamicToolProvider",
    "ipc": "IPCClient",
}
"""A name of each module that tools import from directly."""
