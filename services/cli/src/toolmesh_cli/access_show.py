"""`toolmesh access show`: a user's roles and scopes, and what of the mesh they open."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmesh_cli import exit_codes
from toolmesh_cli.call_output import failures_as_json, print_json
from toolmesh_cli.caller_access import mesh_authorization, shown_access
from toolmesh_cli.columns import table
from toolmesh_cli.mesh_authorization import NO_AUTHORIZATION
from toolmesh_cli.mesh_connection import connect_to_mesh, folder_of
from toolmesh_cli.mesh_listing import read_listing
from toolmesh_cli.mesh_state import read_state
from toolmesh_cli.terminal import Terminal, visible
from toolmesh_client.client import Client
from toolmesh_client.errors import ClientError
from toolmesh_client.resolution import resolve_tool
from toolmesh_contracts.access.authorization import AuthorizationType
from toolmesh_contracts.access.resolution import Access, HeldRole, RoleSource
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_executor.agent_files import load_agents
from toolmesh_executor.registry import AgentTools, build_registry

__all__ = ["run_access_show"]

_MAY: Final = "may be called"
_REASONS: Final = {
    RoleSource.FILE: "by {}",
    RoleSource.CLAIM: "by the claim {}",
    RoleSource.DEFAULT: "by default: nothing assigns another role",
    RoleSource.INHERITED: "included in {}",
}


@dataclass(frozen=True, slots=True)
class _Gate:
    """An agent or tool, and what the user lacks for it."""

    name: str
    lacks: tuple[str, ...]
    inner: tuple["_Gate", ...] = ()

    def document(self) -> dict[str, Any]:
        """Return it for `--json`."""
        return {"name": self.name, "lacks": list(self.lacks)}


async def run_access_show(data_folder: Path | None, user: str, claims: Sequence[str], *, as_json: bool) -> int:
    """Print what a user may do; return the exit code.

    Raises:
        ToolmeshError: no mesh runs here, it has no authorization, or something asked for is no user or claim.
    """
    stdout = Terminal.stdout()
    with failures_as_json(wanted=as_json):
        folder = folder_of(data_folder)
        async with connect_to_mesh(folder) as mesh:
            access = shown_access(mesh_authorization(folder), user, claims)
            files = [Path(file) for file in read_state(folder).agents]
            loaded = load_agents(files, mesh.profile.namespace, os.environ)
            agents = [_agent(one, mesh.client, access) for one in build_registry(loaded.agents.values()).values()]
            tools = [_tool(tool.newest, access) for tool in (await read_listing(mesh.client)).tools()]
        if as_json:
            print_json(_document(access, agents, tools), stdout)
            return exit_codes.OK
        for line in table(list(_rows(access, agents, tools))):
            stdout.line(visible(line))
        if access.type is AuthorizationType.NONE:
            Terminal.stderr().warning(NO_AUTHORIZATION)
        for problem in loaded.problems:
            Terminal.stderr().problem(str(problem))
    return exit_codes.OK


def _agent(agent: AgentTools, client: Client, access: Access) -> _Gate:
    def entry_of(name: str) -> CatalogEntry | None:
        try:
            return resolve_tool(client.tools(), name, None)
        except ClientError:
            return None

    held = access.held
    remote = (
        _Gate(name, agent.missing_scopes(tool, entry_of(tool.remote_name), held)) for name, tool in agent.tools.items()
    )
    local = (_Gate(name, agent.missing_scopes(tool, None, held)) for name, tool in agent.local.items())
    return _Gate(agent.agent, held.missing(agent.admission_scopes()), (*remote, *local))


def _tool(entry: CatalogEntry, access: Access) -> _Gate:
    # Nobody without a scope may call anything, though such a tool asks for none.
    lacks = access.held.missing(entry.required_scopes)
    return _Gate(entry.tool, lacks if access.scopes else (*lacks, "any scope"))


def _document(access: Access, agents: Iterable[_Gate], tools: Iterable[_Gate]) -> dict[str, Any]:
    return {
        "user": access.subject,
        "authorization": access.type,
        "roles": [{"name": role.name, "from": role.source, "detail": role.detail} for role in access.roles],
        "scopes": list(access.scopes),
        "agents": [agent.document() | {"tools": [tool.document() for tool in agent.inner]} for agent in agents],
        "tools": [tool.document() for tool in tools],
    }


def _rows(access: Access, agents: Iterable[_Gate], tools: Iterable[_Gate]) -> Iterator[tuple[str, str, str]]:
    yield "user", access.subject, f"authorization is {access.type}"
    for role in access.roles:
        yield "role", role.name, _reason(role)
    for scope in access.scopes:
        yield "scope", scope, ""
    if not access.scopes:
        yield "scope", "none", ""
    for agent in agents:
        yield "agent", agent.name, _verdict(agent)
        for tool in agent.inner:
            yield "", f"  {tool.name}", _verdict(tool)
    for tool in tools:
        yield "tool", tool.name, f"{_verdict(tool)}{'' if tool.lacks else ' without an agent'}"


def _reason(role: HeldRole) -> str:
    return _REASONS[role.source].format(role.detail)


def _verdict(gate: _Gate) -> str:
    return f"lacks {', '.join(gate.lacks)}" if gate.lacks else _MAY
