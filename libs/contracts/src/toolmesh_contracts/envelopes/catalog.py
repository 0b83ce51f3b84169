"""What workers say of themselves and their tools."""

from typing import Annotated, Final

import msgspec

from toolmesh_contracts.envelopes.values import Identifier, Milliseconds, RawJson
from toolmesh_contracts.errors import ErrorCode

__all__ = [
    "DECLARED_PROFILE",
    "AgentSummary",
    "ArtifactParameter",
    "CatalogEntry",
    "DescribeReply",
    "DescribeRequest",
    "Heartbeat",
    "ToolProblem",
]

DECLARED_PROFILE: Final = "declared"
"""Sandbox profile of every declared tool; no manifest can name it."""


class ArtifactParameter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A parameter that takes a file, or a list of files, by artifact name."""

    is_list: bool = False
    is_optional: bool = False
    filename_key: str | None = None
    """For a list of objects: the field that names the file."""


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One worker's tool: value of catalog key `<pool>.<tool>.<worker>`."""

    tool: str
    pool: str
    worker: Identifier
    version: str
    """Digest of the toolset."""
    discovered_ms: Milliseconds
    """Unix time; of two versions the newer one is shown."""
    description: str
    parameters: msgspec.Raw
    """JSON Schema of the arguments."""
    instructions: str = ""
    artifact_parameters: dict[str, ArtifactParameter] = {}
    raw_string_arguments: tuple[str, ...] = ()
    """Arguments in which embeds are not resolved."""
    resolution_type: str = "early"
    config_schema: RawJson = msgspec.UNSET
    """JSON list of the settings that the tool reads from tool_config."""
    auth: RawJson = msgspec.UNSET
    volume_parameters: RawJson = msgspec.UNSET
    output_schema: RawJson = msgspec.UNSET
    """JSON Schema of a success's data."""
    sdk: str = ""
    """Name and version of the SDK that described the tool, if it says."""
    required_scopes: tuple[str, ...] = ()
    idempotent: bool = False
    max_attempts: Annotated[int, msgspec.Meta(ge=1)] = 1
    timeout_ms: Milliseconds = 300_000
    lane: str = "normal"
    profile: str = "standard"
    source: str = ""
    """The manifest's file name and entry, for messages to the operator; no host path."""


class ToolProblem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool or toolset that could not be loaded."""

    source: str
    tool: str
    code: ErrorCode
    message: str
    unserved: str = ""
    """The tool's name on its workers, if all that is wrong is that none serves it now."""


class AgentSummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What other agents need to know of an agent."""

    name: str
    description: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    required_scopes: tuple[str, ...] = ()
    """Scopes that a caller needs besides `agent:<name>:invoke`."""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A worker's or an executor's sign of life."""

    instance: Identifier
    pool: str
    kind: str
    """`worker` or `executor`."""
    started_ms: Milliseconds
    slots: int = 0
    running: int = 0
    warm: dict[str, int] = {}
    """Warm processes by tool."""
    tools: int = 0
    draining: bool = False
    problems: tuple[ToolProblem, ...] = ()
    agents: tuple[AgentSummary, ...] = ()
    """Of an executor: the agents that it runs."""
    model: str | None = None
    """Of an executor: the model that tools without one of their agent ask; empty without one."""


class DescribeRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Ask for a tool's schema under a given configuration."""

    tool: str
    executor: Identifier
    request: Identifier
    tool_config: RawJson = msgspec.UNSET
    sealed_config: str | None = None


class DescribeReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The schema, or why there is none."""

    entry: CatalogEntry | None = None
    code: ErrorCode | None = None
    message: str = ""
