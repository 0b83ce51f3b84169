"""The declared tools of an agent folder on the author's machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolmesh_contracts.config_problems import Problem
from toolmesh_runtime.declared.agent_reading import read_agents
from toolmesh_runtime.declared.declared_tool import DeclaredTool
from toolmesh_runtime.workbench.bench import Bench

__all__ = ["AgentEntries", "read_agent_entries"]


@dataclass(frozen=True, slots=True)
class AgentEntries:
    """What an agent folder holds.

    Attributes:
        tools: Its tools by name.
        problems: What is wrong with others, or with the folder.
    """

    tools: Mapping[str, DeclaredTool]
    problems: Sequence[Problem]


def read_agent_entries(folder: Path, bench: Bench) -> AgentEntries:
    """Publish and read one agent folder, as a worker does."""
    reading = read_agents([folder], bench.base, (), bench.confinement.backend, {})
    return AgentEntries(
        {tool.name: tool for tool, _ in reading.tools}, tuple(problem for _, problem in reading.problems)
    )
