"""Reads all agent folders of a worker; a broken one never costs the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_contracts.tool_places import VESSEL_NAME, sort_places
from toolmesh_contracts.worker_config import ServiceEndpoint
from toolmesh_runtime.declared.agent_folders import publish_agent
from toolmesh_runtime.declared.declared_tool import DeclaredTool, declared_tools
from toolmesh_runtime.services.endpoints import find_endpoint
from toolmesh_runtime.toolsets.loaded_tool import LoadedTool
from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.settings import Mode

__all__ = ["AgentReading", "read_agents"]

_NOT_ISOLATED: Final = "declared tools are promised more than mode {mode} can give; run the worker in mode bwrap"
_NOT_ALLOWED: Final = "no entry of `services` in the worker's configuration allows this URL"


@dataclass(frozen=True, slots=True)
class AgentReading:
    """What the agent folders gave.

    Attributes:
        tools: Their tools, each with the file that declares it.
        problems: Each with the name of its tool, or nothing.
        unreadable: Agent folders of which nothing could be read.
        watched: Folders whose changes matter.
    """

    tools: tuple[tuple[DeclaredTool, Path], ...]
    problems: tuple[tuple[str, Problem], ...]
    unreadable: tuple[Path, ...]
    watched: tuple[Path, ...]


def read_agents(
    places: Sequence[Path],
    base: Path,
    hidden: Sequence[Path],
    backend: Backend,
    former: Mapping[str, LoadedTool],
    services: Sequence[ServiceEndpoint] = (),
) -> AgentReading:
    """Publish and read the agent folders among a worker's places.

    Args:
        places: What the worker serves.
        base: The sandbox's base folder.
        hidden: Folders of the worker that no mount may show.
        backend: The sandbox.
        former: What was served before, by name.
        services: What tools with a `service` may have called.
    """
    tools: list[tuple[DeclaredTool, Path]] = []
    problems: list[tuple[str, Problem]] = []
    unreadable: list[Path] = []
    watched: list[Path] = []
    for folder in sort_places(places).agents:
        watched.append(folder)
        try:
            if backend.mode is not Mode.BWRAP:
                message = _NOT_ISOLATED.format(mode=backend.mode)
                raise ConfigError([Problem(file=str(folder / VESSEL_NAME), message=message)])  # noqa: TRY301
            package = publish_agent(folder, base, hidden)
        except ConfigError as error:
            unreadable.append(folder)
            problems.extend(("", problem) for problem in error.problems)
            continue
        watched.extend(package.copied)
        problems.extend(("", problem) for problem in package.problems)
        for tool in declared_tools(package, former):
            service, file = tool.settings.service, package.folder / tool.file
            if service is None or find_endpoint(service.url, services) is not None:
                tools.append((tool, file))
            else:
                path = ("service", "url")
                problem = Problem(file=str(file), path=path, message=_NOT_ALLOWED, found=repr(service.url))
                problems.append((tool.name, problem))
    return AgentReading(tuple(tools), tuple(problems), tuple(unreadable), tuple(watched))
