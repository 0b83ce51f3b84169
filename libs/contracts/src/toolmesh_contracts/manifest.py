"""The tool manifest: which tools a folder holds, and how each of them runs.

Read by workers. A manifest comes from a tool's author, so variables of the worker's environment are never filled in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from toolmesh_contracts.config_fields import (
    AbsolutePath,
    ConfigModel,
    Count,
    HostPattern,
    NoBoolean,
    PoolName,
    RelativePath,
    ScopeText,
    Seconds,
)
from toolmesh_contracts.config_problems import ConfigError, Problem, describe
from toolmesh_contracts.document import Document
from toolmesh_contracts.errors import InvalidNameError
from toolmesh_contracts.model_loading import check
from toolmesh_contracts.names import Lane, validate_tool_name
from toolmesh_contracts.reserved import reserved_reason
from toolmesh_contracts.yaml_document import read_yaml

__all__ = ["Manifest", "ManifestFile", "ResourceLimits", "SandboxProfile", "ToolManifest", "load_manifest"]

SandboxProfile = Literal["standard", "restrictive", "permissive"]
"""A named sandbox policy: `restrictive` has no network, `permissive` sees more of the host."""


class ResourceLimits(ConfigModel):
    """Limits that replace those of the sandbox profile, one by one."""

    max_cpu_seconds: Count | None = None
    """CPU time of one process, in seconds."""
    max_file_size_mb: Count | None = None
    """Largest file that a process may write, in MiB."""
    max_open_files: Count | None = None
    """Open files of one process."""
    max_processes: Count | None = None
    """Processes and threads of one call."""
    max_stack_size_mb: Count | None = None
    """Stack of one process, in MiB."""


class ToolManifest(ConfigModel):
    """How one tool runs."""

    runtime: Literal["python", "go", "executable"] | None = None
    """`python` runs under the interpreter `python`; `go` and `executable` run as they are. None: found by probing."""
    executable: RelativePath
    """Program in `tool_dir`; also looked for in `<tool_dir>/python/bin/` and as `<tool_dir>/<executable>.py`."""
    tool_dir: RelativePath = ""
    """Folder of the program, relative to the manifest's folder; default: the tool's key."""
    timeout_seconds: Seconds | None = None
    """Wall clock of one call, in seconds. None: what the tool's own description says, else the worker's
    `default_timeout_seconds` (300)."""
    sandbox_profile: SandboxProfile | None = None
    """Sandbox policy of this tool. None: the worker's `sandbox.default_profile` (standard)."""
    resource_limits: ResourceLimits = ResourceLimits()
    """Limits that differ from the profile's."""
    schema_refresh_seconds: Seconds | None = None
    """How often the tool is asked for its schema again, in seconds; None: when its files change."""
    required_scopes: tuple[ScopeText, ...] = ()
    """Scopes that a caller needs, all of them, whatever an agent's configuration says."""
    idempotent: bool = False
    """Running a call twice does no harm; only then may it be run again after a worker was lost."""
    max_attempts: Annotated[int, Field(ge=1, le=20), NoBoolean] = 1
    """Most runs of one call; more than 1 needs `idempotent: true`."""
    start: Literal["auto", "nursery", "template", "cold"] = "auto"
    """How a call's process starts: `nursery` clones an interpreter that has loaded the SDK but never toolset code;
    `template` clones one that has imported the toolset (only where the operator trusts it); `cold` starts a new process
    each time; `auto` takes the fastest that is safe for the tool, without `template`."""
    pool: PoolName = "default"
    """Pool of workers that serve this tool: the trust boundary."""
    lane: Lane = Lane.NORMAL
    """Default urgency of calls: interactive, normal or bulk."""
    egress: tuple[HostPattern, ...] = ()
    """Hosts that the tool may reach, such as `api.example.com:443` or `*.example.com`; empty: the profile decides."""
    compat: Literal["repair", "strict"] = "repair"
    """How a tool with a published SDK of its own runs: `repair` fills parameters which that SDK misses, and checks and
    converts arguments before the start; `strict` leaves all that exactly as the SDK does it."""
    python: AbsolutePath | None = None
    """Interpreter of a Python tool. None: the worker's `sandbox.python` (/usr/bin/python3)."""

    @model_validator(mode="after")
    def _retries_need_idempotence(self) -> Self:
        if self.max_attempts > 1 and not self.idempotent:
            raise ValueError("max_attempts over 1 needs `idempotent: true`: a second run repeats the tool's effects")
        return self


class ManifestFile(ConfigModel):
    """A manifest as it is written."""

    version: Literal[1] = 1
    """Format of the manifest."""
    tools: dict[str, ToolManifest]
    """The tools by name."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A loaded manifest.

    Attributes:
        path: The file.
        tools: The sound tools by name, `tool_dir` filled in.
        problems: What is wrong with the others.
    """

    path: Path
    tools: Mapping[str, ToolManifest]
    problems: tuple[Problem, ...]


_TOOL: Final = TypeAdapter(ToolManifest)


def load_manifest(path: Path) -> Manifest:
    """Load a manifest; a mistake in one tool leaves the others usable.

    Raises:
        ConfigError: the file as a whole can't be used: unreadable, no valid YAML, another version, no `tools`.
    """
    document = read_yaml(path)
    entries, outside = _entries(document)
    tools: dict[str, ToolManifest] = {}
    problems: list[Problem] = []
    for name, value in entries.items():
        try:
            tools[name] = _tool(document, name, value)
        except ConfigError as error:
            problems.extend(error.problems)
    if outside:
        raise ConfigError([*outside, *problems])
    return Manifest(path, tools, tuple(problems))


def _entries(document: Document) -> tuple[Mapping[str, Any], Sequence[Problem]]:
    """Return the tools as they are written, and what is wrong with the keys beside them."""
    value = document.value()
    if not isinstance(value, dict):
        message = "should be a mapping with `version` and `tools`"
        raise ConfigError([document.problem((), message, found=describe(value))])
    outline = {key: item for key, item in value.items() if key != "tools"}
    outline |= {"tools": {}} if "tools" in value else {}
    outside: Sequence[Problem] = ()
    try:
        check(TypeAdapter(ManifestFile), ManifestFile, document, outline)
    except ConfigError as error:
        outside = error.problems
    tools = value.get("tools")
    if tools is None:
        return {}, outside
    if not isinstance(tools, dict):
        message = "should be a mapping of tool names to their settings"
        raise ConfigError([*outside, document.problem(("tools",), message, found=describe(tools))])
    return tools, outside


def _tool(document: Document, name: str, value: Any) -> ToolManifest:
    path = ("tools", name)
    try:
        validate_tool_name(name)
    except InvalidNameError as error:
        raise ConfigError([document.problem(path, str(error))]) from error
    if reason := reserved_reason(name):
        raise ConfigError([document.problem(path, f"{reason}; choose another name")])
    if isinstance(value, dict) and not value.get("tool_dir"):
        value = {**value, "tool_dir": name}
    tool = check(_TOOL, ToolManifest, document, value, path)
    if tool.executable == ".":
        raise ConfigError([document.problem((*path, "executable"), "should name a file")])
    return tool
