"""Calls a tool as an agent does: its names, settings and scopes of the tool, from its file."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from toolmesh_cli.agent_files import find_agent_files
from toolmesh_cli.mesh_connection import MeshConnection, development_tokens_of
from toolmesh_cli.mesh_state import read_state
from toolmesh_cli.missing_tool import why_not_served
from toolmesh_cli.tool_artifacts import bind_artifacts
from toolmesh_client.errors import NotCallableAgainError
from toolmesh_client.request import CallRequest
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_contracts.envelopes.reply import Status
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_executor.agent_dispatcher import agent_dispatcher
from toolmesh_executor.dispatch import Dispatcher, NotServedError, TokenVerifier
from toolmesh_identity.development import DevelopmentIssuer

__all__ = ["AgentCaller", "agent_caller", "known_agent_files", "token_verifier"]


class AgentCaller:
    """One agent, ready to call its tools."""

    def __init__(self, agent: str, dispatcher: Dispatcher, mesh: MeshConnection) -> None:
        self._agent = agent
        self._dispatcher = dispatcher
        self._mesh = mesh

    async def call(
        self,
        tool: str,
        arguments: bytes,
        timeout_s: float | None,
        on_status: Callable[[Status], None],
        artifacts: Sequence[str] = (),
    ) -> CallResult:
        """Call the tool that the agent knows as `tool`, with `PARAM=FILE` artifacts; how a call ends is its result.

        Raises:
            ToolmeshError: there is no token, the tool can't be called now, or it has no use for an artifact.
        """
        token = await self._mesh.tokens()
        entry = await self._entry(tool, token)
        arguments, files = bind_artifacts(artifacts, entry.artifact_parameters, arguments)
        return await self._dispatcher.dispatch(
            self._agent, tool, arguments, token, on_status=on_status, artifacts=files, timeout_s=timeout_s
        )

    async def call_again(self, request: CallRequest, on_status: Callable[[Status], None]) -> CallResult:
        """Make the call of a dead letter with the settings that the agent's file has for its tool now.

        Raises:
            ToolmeshError: the agent has another tool of that name, or as `call`.
        """
        token, name = await self._mesh.tokens(), request.exposed_name or request.tool
        entry = await self._entry(name, token)
        # A worker wrote the letter: it must not choose who gets the settings' secrets.
        if (entry.pool, entry.tool) != (request.pool, request.tool):
            raise NotCallableAgainError(
                f"dead letter {request.requeued_from} is of tool {request.tool!r} in pool {request.pool!r}, but agent "
                f"{self._agent!r} has {entry.tool!r} in pool {entry.pool!r} as {name!r}",
                hint="give the agent that made the call: `toolmesh dead show ID` tells which",
            )
        return await self._dispatcher.dispatch(
            self._agent,
            name,
            request.arguments,
            token,
            on_status=on_status,
            artifacts=request.artifacts,
            timeout_s=request.timeout_s,
            requeued_from=request.requeued_from,
        )

    def tools(self, token: str) -> dict[str, str]:
        """Return the descriptions of the tools that the agent has for a caller now, by name.

        Raises:
            DispatchError: no such agent, the token proves nothing, or the caller may not call the agent.
        """
        remote = self._dispatcher.visible_tools(self._agent, token)
        local = self._dispatcher.local_tools(self._agent, token)
        return {
            **{one.tool.exposed_name: one.entry.description for one in remote},
            **{tool.exposed_name: tool.builtin.description for tool in local},
        }

    async def _entry(self, tool: str, token: str) -> CatalogEntry:
        try:
            return self._dispatcher.entry_of(self._agent, tool, token)
        except NotServedError as error:
            raise await why_not_served(self._mesh.client, error.remote_name, error) from error


def known_agent_files(given: Sequence[Path], folder: Path) -> Sequence[Path]:
    """Return the agent files that the command line gives, else those of the mesh in the data folder.

    Raises:
        ToolmeshError: no mesh was started there, or it has none.
    """
    if files := given or tuple(Path(file) for file in read_state(folder).agents):
        return files
    raise ToolmeshError(
        "no agent files are known",
        code=ErrorCode.INVALID_CONFIGURATION,
        hint="add --agents FILE, or start the mesh with `toolmesh up --agents FILE`",
    )


def token_verifier(mesh: MeshConnection) -> TokenVerifier:
    """Return what believes the tokens that this machine's mesh makes.

    Raises:
        ToolmeshError: the mesh's tokens are made elsewhere.
    """
    issuer = DevelopmentIssuer(Path(development_tokens_of(mesh.profile, "--agent").folder))
    return TokenVerifier(keys=issuer.issuer_public_keys(), namespace=mesh.profile.namespace, issuer=issuer.name)


def agent_caller(agent: str, files: Sequence[Path], mesh: MeshConnection) -> AgentCaller:
    """Load the agent files and return a caller for one of their agents.

    Raises:
        ToolmeshError: none of the files has this agent.
    """
    verifier = token_verifier(mesh)
    dispatcher = agent_dispatcher(agent, find_agent_files(files), mesh.client, verifier, os.environ)
    return AgentCaller(agent, dispatcher, mesh)
