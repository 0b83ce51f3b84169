"""Declared tools: an agent folder's `vessel.toml` and the TOML file of each tool.

Models and their loading only; nothing here runs a tool. Files come with the agent, so no variable is filled in.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, model_validator

from toolmesh_contracts.agent_config.entries import Headers
from toolmesh_contracts.config_fields import AbsolutePath, ConfigModel, Count, NoBoolean, RelativePath, Seconds, Text
from toolmesh_contracts.config_problems import ConfigError, Problem, nearest
from toolmesh_contracts.document import Document
from toolmesh_contracts.model_loading import check
from toolmesh_contracts.reserved import declared_reserved_reason
from toolmesh_contracts.scopes import MAX_SCOPE_CHARACTERS
from toolmesh_contracts.toml_document import read_toml
from toolmesh_contracts.tool_places import VESSEL_NAME

__all__ = [
    "AGENT_INSIDE",
    "DECLARED_NAME",
    "DEFAULT_SCOPE",
    "PACKAGE_PLACEHOLDER",
    "DeclaredTool",
    "DeclaredToolFile",
    "Mount",
    "Service",
    "StrictSeconds",
    "Vessel",
    "VesselFile",
    "VesselSandbox",
    "VesselTools",
    "load_declared_tool",
    "load_vessel",
]

PACKAGE_PLACEHOLDER: Final = "{package}"
"""Stands in a command for the agent folder's path in the sandbox."""

AGENT_INSIDE: Final = PurePosixPath("/agent")
"""Where the sandbox shows the agent folder."""

DEFAULT_SCOPE: Final = "tools:read"
"""Scope of a tool that names none."""

DECLARED_NAME: Final = r"[a-z][a-z0-9_]{0,62}"
"""A declared tool's name, to be matched as a whole."""

_SCOPE: Final = re.compile(r"[^\s\x00-\x1f\x7f]+")
_OWN_HEADERS: Final = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding", "te", "upgrade"}
)
_WORKSPACES: Final = ("/work", "/workspace")
_TAKEN_TARGETS: Final = (
    *("/agent", "/outbox", *_WORKSPACES, "/tmp", "/var", "/run"),  # noqa: S108 - inside the sandbox
    *("/proc", "/dev", "/sys", "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
)


def _name(text: str) -> str:
    if not re.fullmatch(DECLARED_NAME, text):
        raise ValueError("a name is 1 to 63 lowercase letters, digits and underscores, and starts with a letter")
    if reason := declared_reserved_reason(text):
        raise ValueError(f"{reason}; choose another name")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("the text must not be empty: it is what the model decides by")
    return text


def _argument(text: str) -> str:
    if "\0" in text:
        raise ValueError("an argument must not hold a NUL")
    return text


def _scope(text: str) -> str:
    if len(text) > MAX_SCOPE_CHARACTERS or not _SCOPE.fullmatch(text):
        raise ValueError(f"a scope is 1 to {MAX_SCOPE_CHARACTERS} characters without white space, such as tools:read")
    return text


def _mount_target(text: str) -> str:
    path = PurePosixPath(text)
    if str(path) == "/" or any(path.is_relative_to(taken) for taken in _TAKEN_TARGETS):
        raise ValueError("this folder of the sandbox is taken; choose one such as /data")
    return str(path)


def _service_url(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@]+(?:[/?#]\S*)?", text):
        raise ValueError("a URL that starts with https:// or http:// is needed, without user or password")
    return text


def _service_headers(headers: dict[str, str]) -> dict[str, str]:
    for name in headers:
        if name.lower() in _OWN_HEADERS or name.lower().startswith("x-toolmesh-"):
            raise ValueError(f"the header {name!r} is set by toolmesh")
        if not headers[name].isascii():
            raise ValueError(f"the header {name!r} has a value that is not ASCII")
    return headers


_FLAG_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

StrictSeconds = Annotated[float, Field(gt=0, le=86_400, strict=True), NoBoolean]
"""A time limit in seconds that is written as a number."""


class Service(ConfigModel):
    """An HTTP endpoint of the application that answers the call."""

    url: Annotated[str, AfterValidator(_service_url)]
    """Where the arguments are sent as JSON."""
    method: Literal["POST", "PUT"] = "POST"
    """HTTP method."""
    headers: Annotated[Headers, AfterValidator(_service_headers)] = Field(default_factory=dict)
    """Further headers; no secrets, which stand in the worker's configuration."""
    timeout_seconds: StrictSeconds | None = None
    """Time limit of the request, in seconds; None: the tool's."""


class DeclaredToolFile(ConfigModel):
    """One declared tool as it is written."""

    name: Annotated[str, AfterValidator(_name)]
    """Lowercase letters, digits and underscores, starting with a letter, up to 63 characters."""
    description: Annotated[str, AfterValidator(_not_blank)]
    """What the model sees to decide when to call the tool."""
    command: Annotated[tuple[Annotated[str, AfterValidator(_argument)], ...], Field(min_length=1)] | None = None
    """The arguments to run; `{package}` is the agent folder's path in the sandbox."""
    service: Service | None = None
    """The endpoint to call instead of a command."""
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of the arguments, shown to the model as it is."""
    input: Literal["json-stdin", "args"] = "json-stdin"
    """Arguments as one JSON object on stdin, or as `--name=value` flags."""
    timeout_seconds: StrictSeconds | None = None
    """Time limit in seconds; None: the agent's `tool_timeout_seconds`."""
    scope: Annotated[str, AfterValidator(_scope)] = DEFAULT_SCOPE
    """The scope that the caller needs: one opaque text."""

    @model_validator(mode="after")
    def _one_way_to_run(self) -> Self:
        if (self.command is None) == (self.service is None):
            found = "neither" if self.command is None else "both"
            raise ValueError(f"exactly one of `command` and `service` is needed; found {found}")
        if self.command is not None and not self.command[0]:
            raise ValueError("the first element of `command` names the program and must not be empty")
        return self

    @model_validator(mode="after")
    def _flags_can_be_named(self) -> Self:
        properties = self.parameters.get("properties", {})
        if not isinstance(properties, dict):
            raise ValueError("parameters.properties should be a table of parameter names")  # noqa: TRY004
        if self.input == "args" and not all(_FLAG_NAME.fullmatch(name) for name in properties):
            raise ValueError(
                'with input = "args" a parameter\'s name is letters, digits, `_` and `-`, starting with a letter'
            )
        return self

    def argv(self, package: str) -> tuple[str, ...]:
        """Return the command with `{package}` replaced in every element; empty for a service."""
        return tuple(part.replace(PACKAGE_PLACEHOLDER, package) for part in self.command or ())


class Mount(ConfigModel):
    """Data that the tools may read."""

    source: Text
    """Folder on the host; a relative one starts at the agent folder."""
    target: Annotated[AbsolutePath, AfterValidator(_mount_target)]
    """Where it is in the sandbox, read-only."""


class VesselTools(ConfigModel):
    """Section `[tools]`."""

    declared: tuple[RelativePath, ...] = ()
    """Tool files, relative to the agent folder."""


class VesselSandbox(ConfigModel):
    """Section `[sandbox]`."""

    mounts: tuple[Mount, ...] = ()
    """Folders that are mounted read-only."""

    @model_validator(mode="after")
    def _targets_differ(self) -> Self:
        targets = [PurePosixPath(mount.target) for mount in self.mounts]
        for index, target in enumerate(targets):
            if any(target.is_relative_to(other) or other.is_relative_to(target) for other in targets[:index]):
                raise ValueError("two mounts have the same target, or one lies in the other")
        return self


class VesselFile(ConfigModel):
    """The parts of `vessel.toml` that declared tools need; a vessel's other sections are left alone."""

    model_config = ConfigDict(extra="ignore")

    tools: VesselTools = VesselTools()
    sandbox: VesselSandbox = VesselSandbox()
    workdir: AbsolutePath | None = None
    """Current folder of commands, as a path in the sandbox: a mount's target, or below one or the agent folder; None:
    the turn's workspace."""
    tool_timeout_seconds: Seconds = 300
    """Time limit of tools that name none, in seconds."""
    tool_output_chars: Count = 8000
    """Characters of a tool's output that the model sees."""


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """A sound declared tool and the file that it came from."""

    settings: DeclaredToolFile
    path: Path


@dataclass(frozen=True, slots=True)
class Vessel:
    """An agent folder's declared tools.

    Attributes:
        folder: The agent folder.
        settings: What `vessel.toml` says.
        tools: The sound tools by name.
        problems: What is wrong with the others.
        ignored: Sections and keys of `vessel.toml` that are not known here.
    """

    folder: Path
    settings: VesselFile
    tools: Mapping[str, DeclaredTool]
    problems: tuple[Problem, ...]
    ignored: tuple[str, ...]


_TOOL_FILE: Final = TypeAdapter(DeclaredToolFile)
_VESSEL_FILE: Final = TypeAdapter(VesselFile)
_KNOWN: Final = tuple(VesselFile.model_fields)


def load_vessel(folder: Path) -> Vessel:
    """Load an agent folder's `vessel.toml` and the tools that it lists; a bad tool leaves the others usable.

    Raises:
        ConfigError: `vessel.toml` itself can't be used.
    """
    document = read_toml(folder / VESSEL_NAME)
    value = document.value()
    settings = check(_VESSEL_FILE, VesselFile, document, value)
    if problem := _workdir_problem(settings):
        raise ConfigError([document.problem(("workdir",), problem, found=repr(settings.workdir))])
    unknown = tuple(key for key in value if key not in _KNOWN)
    # A section of another part of the vessel is none of our business; a misspelt one of ours is.
    problems = [
        document.problem((key,), "unknown key, ignored", near=near) for key in unknown if (near := nearest(key, _KNOWN))
    ]
    tools: dict[str, DeclaredTool] = {}
    listing = _Listing(folder, document)
    for index, listed in enumerate(settings.tools.declared):
        try:
            tool = listing.load(index, listed)
        except ConfigError as error:
            problems.extend(error.problems)
        else:
            tools[tool.settings.name] = tool
    return Vessel(folder, settings, tools, tuple(problems), unknown)


def _workdir_problem(settings: VesselFile) -> str:
    if settings.workdir is None:
        return ""
    path = PurePosixPath(settings.workdir)
    shown = (AGENT_INSIDE, *(PurePosixPath(mount.target) for mount in settings.sandbox.mounts))
    if any(path.is_relative_to(place) for place in shown):
        return ""
    return "nothing is shown there: add [[sandbox.mounts]] with this `target`, or take a folder below /agent"


def load_declared_tool(path: Path) -> DeclaredToolFile:
    """Load one tool file. Raises ConfigError."""
    document = read_toml(path)
    return check(_TOOL_FILE, DeclaredToolFile, document, document.value())


class _Listing:
    """Loads what `[tools] declared` lists, each file and each name once."""

    def __init__(self, folder: Path, document: Document) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._document = document
        self._listed: set[Path] = set()
        self._names: dict[str, Path] = {}

    def load(self, index: int, listed: str) -> DeclaredTool:
        """Return one tool. Raises ConfigError."""
        path = Path(os.path.realpath(self._folder / listed))
        problem = ""
        if not path.is_relative_to(self._folder):
            problem = "the file lies outside the agent folder"
        elif path in self._listed:
            problem = "the file is listed twice"
        if problem:
            raise ConfigError([self._document.problem(("tools", "declared", index), problem, found=repr(listed))])
        self._listed.add(path)
        settings = load_declared_tool(path)
        if settings.name in self._names:
            message = f"{self._names[settings.name]} declares a tool of the same name"
            raise ConfigError([Problem(file=str(path), path=("name",), message=message, found=repr(settings.name))])
        self._names[settings.name] = path
        return DeclaredTool(settings, path)
