"""Tool names that a manifest, a declared tool or an agent's entry may not take, because they mean something already."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = [
    "BUILTIN_GROUPS",
    "BUILTIN_TOOLS",
    "DECLARED_BUILTINS",
    "SKILL_TOOLS",
    "declared_reserved_reason",
    "reserved_prefix_reason",
    "reserved_reason",
]

_ARTIFACT_TOOLS: Final = (
    "list_artifacts",
    "load_artifact",
    "delete_artifact",
    "append_to_artifact",
    "artifact_search_and_replace_regex",
    "artifact_grep",
)
_IMAGE_TOOLS: Final = (
    "create_image_from_description",
    "describe_image",
    "describe_audio",
    "edit_image_with_gemini",
    "generate_image_with_gemini",
)
_WEB_TOOLS: Final = ("web_request", "web_search_google")
_CONVERSION_TOOLS: Final = ("convert_file_to_markdown", "convert_pdf_to_markdown")

BUILTIN_GROUPS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "artifact_management": _ARTIFACT_TOOLS,
        "builtin_artifact_tools": _ARTIFACT_TOOLS,
        "data_analysis": (
            "query_data_with_sql",
            "create_sqlite_db",
            "transform_data_with_jmespath",
            "merge_structured_data",
            "reinterpret_artifact",
            "create_chart_from_plotly_config",
        ),
        "image_tools": _IMAGE_TOOLS,
        "builtin_image_tools": _IMAGE_TOOLS,
        "web_tools": _WEB_TOOLS,
        "builtin_web_request_tools": _WEB_TOOLS,
        "research": ("web_search_google", "deep_research"),
        "builtin_research_tools": ("web_search_google", "deep_research"),
        "builtin_time_tools": ("get_current_time",),
        "builtin_file_tools": _CONVERSION_TOOLS,
        "builtin_document_tools": (
            "pptx_create_presentation",
            "pdf_ops",
            "render_document_to_images",
            "html_to_pdf",
        ),
        "builtin_diagram_tools": ("mermaid_diagram_generator",),
        "builtin_media_tools": ("ffmpeg", "ffprobe", "image_magick"),
        "builtin_volume_tools": tuple(
            f"volume_{verb}"
            for verb in (
                "read",
                "list",
                "glob",
                "grep",
                "stat",
                "write",
                "edit",
                "append",
                "delete",
                "move",
                "mkdir",
            )
        ),
        "builtin_code_execution": ("execute_python_code",),
        "hil_tools": ("ask_user_question",),
        "general_agent_tools": ("get_current_time", *_CONVERSION_TOOLS, "ask_user_question"),
        "scheduling_tools": (
            "schedule_task",
            "list_scheduled_tasks",
            "update_scheduled_task",
            "delete_scheduled_task",
            "set_scheduled_task_enabled",
        ),
        "notification_tools": ("notify_user",),
    }
)
"""Members of each built-in group, by the group's slug."""

_UNGROUPED: Final = (
    "index_search",
    "select_voice",
    "transcribe_audio",
    "send_email",
    "datadog_logs",
    "pdf_extract_text",
)

BUILTIN_TOOLS: Final[frozenset[str]] = frozenset(_UNGROUPED).union(*BUILTIN_GROUPS.values())
"""Every built-in tool."""

SKILL_TOOLS: Final[frozenset[str]] = frozenset(
    {
        "load_skill",
        "unload_skill",
        "list_skill_resources",
        "read_skill_resource",
        "grep_skill_resources",
        "instantiate_template",
        "read_template",
        "verify_template_candidate",
        "package_template",
    }
)
"""Tools that an agent with skills has."""

DECLARED_BUILTINS: Final[frozenset[str]] = frozenset({"read_file", "write_file", "list_files", "run_command"})
"""Built-in tools of an agent that has declared tools."""

_GROUP_NAMES: Final = frozenset(BUILTIN_GROUPS) | {"builder_tools"}
_RESERVED_PREFIXES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "_": "names that start with `_` are internal",
        "peer_": "names that start with `peer_` are other agents",
        "observability_": "names that start with `observability_` are internal",
        "sam-": "names that start with `sam-` are built-in skills",
    }
)


def reserved_prefix_reason(name: str) -> str:
    """Return why a name's beginning is reserved, or an empty text."""
    return next((reason for prefix, reason in _RESERVED_PREFIXES.items() if name.startswith(prefix)), "")


def reserved_reason(name: str) -> str:
    """Return why no manifest may define a tool of this name, or an empty text when one may."""
    if name in BUILTIN_TOOLS:
        return f"{name!r} is a built-in tool"
    if name in SKILL_TOOLS:
        return f"{name!r} is a tool of the skills"
    if name in _GROUP_NAMES:
        return f"{name!r} is a group of built-in tools"
    return reserved_prefix_reason(name)


def declared_reserved_reason(name: str) -> str:
    """Return why no declared tool may have this name, or an empty text when one may."""
    if name in DECLARED_BUILTINS | BUILTIN_TOOLS:
        return f"{name!r} is a built-in tool"
    return reserved_prefix_reason(name)
