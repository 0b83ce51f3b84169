"""An agent's settings."""

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, model_validator

from toolmesh_contracts.agent_config.entries import BuiltinEntry, BuiltinGroupEntry
from toolmesh_contracts.agent_config.mcp import McpEntry
from toolmesh_contracts.agent_config.openapi import OpenApiEntry
from toolmesh_contracts.config_fields import ConfigModel, Count, Namespace, NoBoolean, ScopeText, Seconds, Text
from toolmesh_contracts.errors import InvalidNameError
from toolmesh_contracts.names import validate_identifier

__all__ = [
    "TOOL_ENTRY",
    "AgentCard",
    "AgentCardPublishing",
    "AgentConfig",
    "AgentDiscovery",
    "AgentListFile",
    "AgentName",
    "AgentSettings",
    "ArtifactService",
    "AutoSummarization",
    "DataToolsConfig",
    "InterAgentCommunication",
    "ModelSettings",
    "SessionService",
    "SingleAgentFile",
    "ToolEntry",
]

ToolEntry: TypeAlias = Annotated[
    BuiltinEntry | BuiltinGroupEntry | McpEntry | OpenApiEntry, Field(discriminator="tool_type")
]
"""One entry of `tools:`."""


def _agent_name(name: str) -> str:
    try:
        return validate_identifier("agent name", name)
    except InvalidNameError as error:
        raise ValueError(f"this name is not allowed; {error.hint}") from error


AgentName = Annotated[str, AfterValidator(_agent_name)]
"""An agent's name, as scopes write it."""


class ModelSettings(ConfigModel):
    """The language model; further keys are parameters of the provider."""

    model_config = ConfigDict(extra="allow")

    model: Text
    """Provider and name, such as `anthropic/claude-sonnet-4-5`."""
    api_base: Text | None = None
    """Address of an own or compatible endpoint."""
    api_key: Text | None = None
    """The provider's key; better given as `${VARIABLE}`."""


class SessionService(ConfigModel):
    """Where conversations are kept."""

    type: Literal["memory", "sql"] = "memory"
    database_url: Text | None = None
    """Needed for `sql`."""
    default_behavior: Literal["PERSISTENT", "RUN_BASED"] = "PERSISTENT"
    """Whether a conversation outlives a run."""

    @model_validator(mode="after")
    def _sql_needs_a_database(self) -> Self:
        if self.type == "sql" and self.database_url is None:
            raise ValueError("type `sql` needs `database_url`")
        return self


class ArtifactService(ConfigModel):
    """Where artifacts are kept; further keys are the backend's own."""

    model_config = ConfigDict(extra="allow")

    type: Literal["memory", "filesystem", "s3", "gcs", "azure"] = "memory"
    base_path: Text | None = None
    """Folder of `filesystem`."""
    bucket_name: Text | None = None
    """Bucket or container of the others."""
    artifact_scope: Literal["namespace", "agent", "app", "custom"] = "namespace"
    """Who shares artifacts."""


class AgentCard(ConfigModel):
    """What other agents and people read about this one."""

    description: str = ""
    default_input_modes: tuple[Text, ...] = Field(default=("text",), alias="defaultInputModes")
    default_output_modes: tuple[Text, ...] = Field(default=("text",), alias="defaultOutputModes")
    skills: Annotated[tuple[dict[str, Any], ...], Field(max_length=20)] = ()


class AgentCardPublishing(ConfigModel):
    """How often the card is published."""

    interval_seconds: Seconds = 60


class AgentDiscovery(ConfigModel):
    """How other agents' cards are watched."""

    enabled: bool = True
    health_check_ttl_seconds: Seconds = 300
    """A card older than this is forgotten, in seconds."""
    health_check_interval_seconds: Seconds = 60
    """How often that is checked, in seconds."""


class InterAgentCommunication(ConfigModel):
    """Which other agents this one may call."""

    allow_list: tuple[Text, ...] = ("*",)
    deny_list: tuple[Text, ...] = ()
    request_timeout_seconds: Seconds = 30


class AutoSummarization(ConfigModel):
    """When a long conversation is shortened."""

    enabled: bool = True
    compaction_percentage: Annotated[float, Field(gt=0, le=1), NoBoolean] = 0.25
    """Part of the conversation that is replaced by a summary."""


class DataToolsConfig(ConfigModel):
    """Limits of the data analysis tools."""

    sqlite_memory_threshold_mb: Count = 100
    """Above this the database is a file, in MiB."""
    max_result_preview_rows: Count = 50
    max_result_preview_bytes: Count = 4096


class AgentSettings(ConfigModel):
    """Everything about an agent but its name."""

    display_name: Text | None = None
    """What people read; None: the name."""
    namespace: Namespace | None = None
    """The namespace; None: the file's, else the executor's."""
    model: Text | ModelSettings | None = None
    """The language model, by name or with settings."""
    tool_models: tuple[Text, ...] = ()
    """Models that the agent's tools may choose by name, besides the agent's own."""
    instruction: str = ""
    """The system prompt."""
    tools: tuple[ToolEntry, ...] = ()
    """What the agent can do."""
    tool_defaults: dict[str, Any] = Field(default_factory=dict)
    """Merged under each entry's `tool_config`, key by key; the entry wins."""
    skills: tuple[Text, ...] = ()
    """Skills that the agent may load."""
    skills_base_path: Text | None = None
    """Folder of the skills."""
    required_scopes: tuple[ScopeText, ...] = ()
    """Scopes that a caller of the agent needs, all of them."""
    agent_card: AgentCard = AgentCard()
    session_service: SessionService = SessionService()
    artifact_service: ArtifactService = ArtifactService()
    max_llm_calls_per_task: Count = 30
    """Turns of the model in one task."""
    enable_auto_continuation: bool = True
    """Go on when the model's answer was cut."""
    supports_streaming: bool = False
    stream_batching_threshold_bytes: Annotated[int, Field(ge=0), NoBoolean] = 100
    """Streamed text is sent in pieces of at least this many bytes."""
    max_message_size_bytes: Count = 10_000_000
    """Largest message to or from the agent, in bytes."""
    tool_output_save_threshold_bytes: Count = 4096
    """A larger tool result is also saved as an artifact, in bytes."""
    tool_output_llm_return_max_bytes: Count = 8192
    """Of a tool result the model sees at most this many bytes."""
    agent_card_publishing: AgentCardPublishing = AgentCardPublishing()
    agent_discovery: AgentDiscovery = AgentDiscovery()
    inter_agent_communication: InterAgentCommunication = InterAgentCommunication()
    max_call_depth: Count = 6
    """Agents that may call one another in a row."""
    enable_embed_resolution: bool = True
    """Replace embeds in tool arguments and answers."""
    enable_artifact_content_instruction: bool = True
    """Tell the model how to embed artifacts."""
    artifact_handling_mode: Literal["ignore", "embed", "reference"] = "ignore"
    """What callers get of the artifacts that a task made."""
    auto_summarization: AutoSummarization = AutoSummarization()
    input_schema: dict[str, Any] | None = None
    """JSON Schema of structured requests."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of structured answers."""
    auto_inject_artifact_tools: bool = True
    """Put the group `artifact_management` before the tools, if it isn't there."""
    auto_inject_data_analysis_tools: bool = True
    """Put the group `data_analysis` before the tools, if it isn't there."""
    schema_inference_depth: Annotated[int, Field(ge=1, le=10), NoBoolean] = 4
    """How deep the schema of a structured artifact is described."""
    data_tools_config: DataToolsConfig = DataToolsConfig()
    enable_inline_vision: bool = False
    """Show images to the model itself."""


class AgentConfig(AgentSettings):
    """One agent of a file's `agents:` list."""

    name: AgentName
    """The agent's name: letters, digits, `_` and `-`."""


class SingleAgentFile(AgentSettings):
    """A file with one agent at its top level."""

    agent_name: AgentName
    """The agent's name: letters, digits, `_` and `-`."""


class AgentListFile(ConfigModel):
    """A file with several agents."""

    namespace: Namespace | None = None
    """Namespace of the agents that name none."""
    tool_defaults: dict[str, Any] = Field(default_factory=dict)
    """Merged under the `tool_defaults` of each agent."""
    agents: Annotated[tuple[AgentConfig, ...], Field(min_length=1)]


TOOL_ENTRY: TypeAdapter[ToolEntry] = TypeAdapter(ToolEntry)
"""Validates one entry of `tools:`."""
