"""An agent folder as an agent: its declared tools, which workers serve, and its prompt."""

from pathlib import Path
from typing import Final

from pydantic import ValidationError

from toolmesh_contracts.agent_config.agent import AgentCard, AgentConfig
from toolmesh_contracts.agent_config.entries import BuiltinEntry
from toolmesh_contracts.agent_config.loading import AgentFile, FailedTool, LoadedAgent, LoadedTool
from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_contracts.document import read_text
from toolmesh_contracts.tool_places import VESSEL_NAME
from toolmesh_contracts.vessel import load_vessel

__all__ = ["PROMPT_NAME", "load_vessel_agent"]

PROMPT_NAME: Final = "prompt.md"
"""The file of an agent folder that holds its instruction."""
_MAX_DESCRIPTION: Final = 200
_MAX_PROMPT_BYTES: Final = 256 * 1024


def load_vessel_agent(folder: Path) -> AgentFile:
    """Return the agent that an agent folder stands for; it has the folder's name, and `prompt.md` as instruction.

    The scope of each tool is enforced from the catalog, where it stands beside the tool.

    Raises:
        ConfigError: `vessel.toml` or `prompt.md` can't be used, or the folder's name is no name for an agent.
    """
    vessel = load_vessel(folder)
    prompt = folder / PROMPT_NAME
    instruction = read_text(prompt, _MAX_PROMPT_BYTES) if prompt.exists() or prompt.is_symlink() else ""
    path = folder / VESSEL_NAME
    entries = [BuiltinEntry(tool_type="builtin", tool_name=name) for name in vessel.tools]
    try:
        card = AgentCard(description=_first_line(instruction))
        config = AgentConfig(
            name=folder.absolute().name, instruction=instruction, tools=tuple(entries), agent_card=card
        )
    except ValidationError as error:
        message = "the folder's name is no name for an agent: letters, digits, `_` and `-` are needed; rename it"
        raise ConfigError([Problem(file=str(path), message=message)]) from error
    tools = tuple(LoadedTool(entry, position, 1, frozenset()) for position, entry in enumerate(entries))
    failed = tuple(
        FailedTool(Path(problem.file).name, len(tools) + number, (problem,))
        for number, problem in enumerate(vessel.problems)
    )
    return AgentFile(path, (LoadedAgent(config, tools, failed),), ())


def _first_line(instruction: str) -> str:
    """Return what other agents read about this one: how its prompt begins."""
    lines = (line.strip("# \t") for line in instruction.splitlines())
    return next((line for line in lines if line), "")[:_MAX_DESCRIPTION]
