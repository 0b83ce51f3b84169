"""The agent that a command talks to, from the files of the command line or of the running mesh."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from toolmesh_cli.agent_call import known_agent_files, token_verifier
from toolmesh_cli.agent_files import find_agent_files
from toolmesh_cli.mesh_connection import MeshConnection
from toolmesh_executor.agent_tasks import AgentTasks, agent_tasks

__all__ = ["asked_agent"]


@asynccontextmanager
async def asked_agent(
    agent: str, files: Sequence[Path], folder: Path, mesh: MeshConnection
) -> AsyncIterator[AgentTasks]:
    """Make an agent ready to be asked.

    Args:
        agent: Its name.
        files: Agent files of the command line; without any, those of the mesh.
        folder: The mesh's data folder.
        mesh: What its tools are called through.

    Raises:
        ToolmeshError: there is no such agent, or it or its model can't be used.
    """
    found = find_agent_files(known_agent_files(files, folder))
    async with agent_tasks(agent, found, mesh.client, token_verifier(mesh), os.environ) as tasks:
        yield tasks
