"""Which tools an agent has: its entries, checked against one another, and the catalog."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolmesh_client.resolution import ToolsByPool, resolve_tool
from toolmesh_client.secrets_box import Secret
from toolmesh_contracts.agent_config.entries import (
    REMOTE_NAME_KEY,
    Approval,
    BuiltinEntry,
    BuiltinGroupEntry,
    EntryBase,
)
from toolmesh_contracts.agent_config.loading import LoadedTool
from toolmesh_contracts.config_problems import ConfigPath, Problem
from toolmesh_contracts.envelopes.catalog import CatalogEntry, ToolProblem
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.reserved import BUILTIN_GROUPS, BUILTIN_TOOLS
from toolmesh_contracts.scopes import ScopeSet
from toolmesh_contracts.sealed_config import split_config, texts_of
from toolmesh_contracts.tool_settings import check_settings, declared_settings
from toolmesh_executor.agent_files import AgentSource
from toolmesh_executor.builtins.builtin_tool import BuiltinTool
from toolmesh_executor.builtins.shipped import SHIPPED_TOOLS

__all__ = ["AgentTool", "AgentTools", "LocalTool", "RemoteTool", "VisibleTool", "build_registry"]

_KIND_NAMES: Final[Mapping[str, str]] = {
    "builtin": "the built-in tool",
    "builtin-group": "the built-in group",
    "mcp": "the MCP server",
    "openapi": "the OpenAPI toolset",
}
_INJECTED_GROUPS: Final[Mapping[str, str]] = {
    "auto_inject_artifact_tools": "artifact_management",
    "auto_inject_data_analysis_tools": "data_analysis",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """What an agent's file says of any tool.

    Attributes:
        exposed_name: The name that the model calls.
        required_scopes: Scopes that a caller needs besides the right to call the agent.
        approval: How a person must agree to each call; None if nobody has to.
        place: File and line of its entry.
    """

    exposed_name: str
    required_scopes: tuple[str, ...]
    approval: Approval | None
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTool(AgentTool):
    """An agent's tool that the executor runs itself.

    Attributes:
        builtin: What it does.
    """

    builtin: BuiltinTool


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteTool(AgentTool):
    """An agent's tool that workers run.

    Attributes:
        remote_name: The tool's name on its workers.
        config: The operator's settings, `tool_defaults` merged in.
        secret_paths: Settings that must not travel in clear, whatever the tool declares.
    """

    remote_name: str
    config: Mapping[str, Any] = field(repr=False)
    secret_paths: frozenset[ConfigPath]

    def settings_for(self, entry: CatalogEntry) -> tuple[dict[str, Any], tuple[Secret, ...]]:
        """Split the settings into what travels in clear and what is sealed: variables and fields declared secret.

        Raises:
            ToolmeshError: the tool can't work with them; the message names each.
        """
        fields = declared_settings(entry)
        check_settings(self.exposed_name, fields, self.config)
        secret = self.secret_paths | {(field.key,) for field in fields if field.secret}
        clear, sealed = split_config(self.config, secret)
        return clear, tuple(Secret(tuple(path), value) for path, value in sealed)

    def secret_texts(self) -> tuple[str, ...]:
        """Return the texts that came from variables: no log may show them."""
        _, sealed = split_config(self.config, self.secret_paths)
        return tuple(text for _, value in sealed for text in texts_of(value) if text)


@dataclass(frozen=True, slots=True)
class VisibleTool:
    """A tool as the model may see it now.

    Attributes:
        tool: The agent's tool.
        entry: What its workers say of it.
    """

    tool: RemoteTool
    entry: CatalogEntry


@dataclass(frozen=True, slots=True)
class AgentTools:
    """An agent's tools.

    Attributes:
        agent: Its name.
        required_scopes: Scopes that a caller of the agent needs besides `agent:<name>:invoke`.
        tools: Its remote tools by exposed name.
        local: Those that the executor runs itself, by exposed name.
        problems: Entries that it has to do without, and why.
    """

    agent: str
    required_scopes: tuple[str, ...]
    tools: Mapping[str, RemoteTool]
    local: Mapping[str, LocalTool]
    problems: tuple[ToolProblem, ...]

    def named(self, name: str) -> AgentTool | None:
        """Return the tool with an exposed name; None if there is none."""
        return self.tools.get(name) or self.local.get(name)

    def admission_scopes(self) -> tuple[str, ...]:
        """Return what a caller of the agent needs; it implies all tools but those with scopes of their own."""
        return (f"agent:{self.agent}:invoke", *self.required_scopes)

    def scopes_to_sign(self, tool: AgentTool) -> tuple[str, ...]:
        """Return what a caller of `tool` needs as far as the agent's file says: its worker checks it once more."""
        return tuple(dict.fromkeys((*self.admission_scopes(), *tool.required_scopes)))

    def missing_scopes(self, tool: AgentTool, entry: CatalogEntry | None, scopes: ScopeSet) -> tuple[str, ...]:
        """Return what a caller lacks to call `tool`; the tool's own manifest may ask for more than the agent does."""
        of_the_tool = () if entry is None else entry.required_scopes
        return scopes.missing(dict.fromkeys((*self.scopes_to_sign(tool), *of_the_tool)))

    def left_out(self, name: str) -> ToolProblem | None:
        """Return why the agent has to do without the entry of this name; None if it has no such entry."""
        return next((problem for problem in self.problems if problem.tool == f"{self.agent}/{name}"), None)

    def visible_tools(self, scopes: ScopeSet, catalog: ToolsByPool) -> tuple[VisibleTool, ...]:
        """Return the tools that a caller with `scopes` may use and that can be called now, in the file's order."""
        visible: list[VisibleTool] = []
        for tool in self.tools.values():
            try:
                entry = resolve_tool(catalog, tool.remote_name, None)
                tool.settings_for(entry)
            except ToolmeshError:
                continue
            if not self.missing_scopes(tool, entry, scopes):
                visible.append(VisibleTool(tool, entry))
        return tuple(visible)

    def unserved(self, catalog: ToolsByPool) -> tuple[ToolProblem, ...]:
        """Return a problem for each tool that can't be called now.

        No worker serves it, several pools do, or its settings are not those that it declares.
        """
        problems: list[ToolProblem] = []
        for tool in self.tools.values():
            try:
                tool.settings_for(resolve_tool(catalog, tool.remote_name, None))
            except ToolmeshError as error:
                unserved = error.code is ErrorCode.TOOL_NOT_FOUND
                problems.append(
                    ToolProblem(
                        source=tool.place,
                        tool=f"{self.agent}/{tool.exposed_name}",
                        code=ErrorCode.TOOL_NOT_AVAILABLE if unserved else error.code,
                        # Before the workers have published theirs, a hint would only mislead.
                        message=str(error) if catalog else error.message,
                        unserved=tool.remote_name if unserved else "",
                    )
                )
        return tuple(problems)


def build_registry(sources: Iterable[AgentSource]) -> dict[str, AgentTools]:
    """Return each agent's tools, by agent. One bad entry never takes the others away."""
    return {source.agent.config.name: _agent_tools(source) for source in sources}


def _agent_tools(source: AgentSource) -> AgentTools:
    config = source.agent.config
    tools: dict[str, AgentTool] = {}
    problems = [_failed(source, failed.label, failed.problems) for failed in source.agent.failed_tools]
    for loaded in source.agent.tools:
        found, missing = _tools_of(source, loaded)
        problems += missing
        for tool in found:
            if (first := tools.setdefault(tool.exposed_name, tool)) is tool:
                continue
            message = (
                f"tool name {tool.exposed_name!r} is exposed twice: in {first.place} "
                f"and in {tool.place}; the first is used, rename the other"
            )
            problems.append(_problem(config.name, tool.place, tool.exposed_name, message))
    problems += _missing_groups(source)
    return AgentTools(
        agent=config.name,
        required_scopes=config.required_scopes,
        tools={name: tool for name, tool in tools.items() if isinstance(tool, RemoteTool)},
        local={name: tool for name, tool in tools.items() if isinstance(tool, LocalTool)},
        problems=tuple(problems),
    )


def _tools_of(source: AgentSource, loaded: LoadedTool) -> tuple[list[AgentTool], list[ToolProblem]]:
    """Return the tools of an entry, and why there are not more."""
    entry = loaded.entry
    if isinstance(entry, BuiltinEntry) and (entry.tool_name not in BUILTIN_TOOLS or entry.is_renamed):
        return [_remote_tool(source, loaded, entry)], []
    if isinstance(entry, BuiltinEntry):
        members: tuple[str, ...] = (entry.tool_name,)
    elif isinstance(entry, BuiltinGroupEntry):
        members = BUILTIN_GROUPS.get(entry.group_name, ())
    else:
        members = ()
    if not any(name in SHIPPED_TOOLS for name in members):
        return [], [_not_available(source, loaded, entry.tool_type, _entry_name(loaded))]
    found: list[AgentTool] = []
    missing: list[ToolProblem] = []
    for name in members:
        if (builtin := SHIPPED_TOOLS.get(name)) is None:
            missing.append(_not_available(source, loaded, "builtin", name))
        else:
            found.append(
                LocalTool(
                    exposed_name=name,
                    builtin=builtin,
                    required_scopes=entry.required_scopes,
                    approval=_approval(entry),
                    place=_place(source, loaded),
                )
            )
    return found, missing


def _missing_groups(source: AgentSource) -> list[ToolProblem]:
    """Return a problem for each group that the file asks for by its key; by default nobody has asked for it."""
    config = source.agent.config
    listed = {entry.group_name for entry in config.tools if isinstance(entry, BuiltinGroupEntry)}
    return [
        _problem(
            config.name,
            str(source.path),
            group,
            f"`{key}: true` asks for {_KIND_NAMES['builtin-group']} {group!r}, which is not available yet; "
            "the agent runs without it",
            code=ErrorCode.TOOL_NOT_AVAILABLE,
        )
        for key, group in _INJECTED_GROUPS.items()
        if key in config.model_fields_set and getattr(config, key) and group not in listed
    ]


def _remote_tool(source: AgentSource, loaded: LoadedTool, entry: BuiltinEntry) -> RemoteTool:
    return RemoteTool(
        exposed_name=entry.tool_name,
        remote_name=entry.remote_name,
        config={key: value for key, value in entry.tool_config.items() if key != REMOTE_NAME_KEY},
        secret_paths=loaded.secret_paths,
        required_scopes=entry.required_scopes,
        approval=_approval(entry),
        place=_place(source, loaded),
    )


def _approval(entry: EntryBase) -> Approval | None:
    return entry.hil if entry.hil is not None and entry.hil.require_approval else None


def _place(source: AgentSource, loaded: LoadedTool) -> str:
    return f"{source.path}:{loaded.line}"


def _not_available(source: AgentSource, loaded: LoadedTool, kind: str, name: str) -> ToolProblem:
    message = f"{_KIND_NAMES[kind]} {name!r} is not available yet; the agent runs without it"
    return _problem(source.agent.config.name, _place(source, loaded), name, message, code=ErrorCode.TOOL_NOT_AVAILABLE)


def _entry_name(loaded: LoadedTool) -> str:
    entry = loaded.entry
    if isinstance(entry, BuiltinEntry):
        return entry.tool_name
    if isinstance(entry, BuiltinGroupEntry):
        return entry.group_name
    return f"entry {loaded.position + 1}"


def _failed(source: AgentSource, label: str, problems: tuple[Problem, ...]) -> ToolProblem:
    return _problem(source.agent.config.name, str(source.path), label, "; ".join(str(problem) for problem in problems))


def _problem(
    agent: str, place: str, tool: str, message: str, code: ErrorCode = ErrorCode.INVALID_CONFIGURATION
) -> ToolProblem:
    return ToolProblem(source=place, tool=f"{agent}/{tool}", code=code, message=message)
