"""Checks agents' settings of tools against what the tools, where their manifests are known, declare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolmesh_cli.author_bench import author_bench
from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.agent_config.entries import REMOTE_NAME_KEY, BuiltinEntry
from toolmesh_contracts.agent_config.loading import AgentFile
from toolmesh_contracts.config_problems import Problem
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.manifest import Manifest
from toolmesh_contracts.tool_description import ConfigField
from toolmesh_contracts.tool_settings import check_settings, misspelt_settings
from toolmesh_runtime.workbench.bench import Bench
from toolmesh_runtime.workbench.entries import Entry, entries_of
from toolmesh_sandbox.errors import SandboxError

__all__ = ["settings_problems", "warn_of_misspelt"]


@dataclass(frozen=True, slots=True)
class _Given:
    """An agent's settings of one tool."""

    file: Path
    line: int
    entry: BuiltinEntry


async def settings_problems(
    files: Sequence[AgentFile], manifests: Sequence[Manifest], terminal: Terminal
) -> list[Problem]:
    """Ask the tools that agents name and manifests have for their settings; return what is wrong with the agents'.

    A tool that can't be asked is passed over: `toolmesh tool validate` says why. So are all where there is no sandbox.
    """
    entries = {entry.name: entry for entry in entries_of(manifests).entries}
    given = [
        _Given(file.path, tool.line, tool.entry)
        for file in files
        for agent in file.agents
        for tool in agent.tools
        if isinstance(tool.entry, BuiltinEntry) and tool.entry.remote_name in entries
    ]
    if not given:
        return []
    try:
        async with author_bench(terminal, sandboxed=True) as bench:
            wanted = dict.fromkeys(one.entry.remote_name for one in given)
            declared = {name: await _declared(entries[name], bench) for name in wanted}
    except (ToolmeshError, SandboxError) as error:
        terminal.warning(f"settings (tool_config) are not checked against their tools: {error}")
        return []
    return [problem for one in given for problem in _problems(one, declared, terminal)]


def warn_of_misspelt(
    fields: Sequence[ConfigField], settings: Mapping[str, object], where: str, terminal: Terminal
) -> None:
    """Warn of settings that the tool does not declare, but whose spelling is near to one that it does."""
    for key, spelling in misspelt_settings(fields, settings).items():
        terminal.warning(f"{where}: the tool declares no setting {key!r}; did you mean {spelling!r}?")


async def _declared(entry: Entry, bench: Bench) -> Sequence[ConfigField]:
    try:
        return (await bench.describe(entry))[entry.name].description.config_schema
    except (ToolmeshError, SandboxError):
        return ()


def _problems(given: _Given, declared: Mapping[str, Sequence[ConfigField]], terminal: Terminal) -> list[Problem]:
    fields = declared[given.entry.remote_name]
    settings = {key: value for key, value in given.entry.tool_config.items() if key != REMOTE_NAME_KEY}
    try:
        check_settings(given.entry.tool_name, fields, settings)
    except ToolmeshError as error:
        message = f"{error.message}; {error.hint}"
        return [Problem(file=str(given.file), line=given.line, message=message)]
    warn_of_misspelt(fields, settings, f"{given.file}:{given.line}", terminal)
    return []
