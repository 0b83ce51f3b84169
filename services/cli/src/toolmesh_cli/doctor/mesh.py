"""Looks at the mesh that runs in a data folder: its workers, tools and agents."""

from collections.abc import Iterator
from pathlib import Path

from toolmesh_broker.embedded.data_folder import DataFolder, is_locked
from toolmesh_cli.doctor.broker import check_broker
from toolmesh_cli.doctor.finding import Finding, ok, problem, skipped, warning
from toolmesh_cli.mesh_authorization import NO_AUTHORIZATION, AuthorizationSource, counted, read_source
from toolmesh_cli.mesh_connection import connect_to_mesh
from toolmesh_cli.mesh_listing import MeshListing, describe_problem, read_listing
from toolmesh_cli.mesh_state import read_state
from toolmesh_client.profile import PROFILE_NAME, read_profile
from toolmesh_contracts.access.authorization import AuthorizationType
from toolmesh_contracts.errors import ToolmeshError

__all__ = ["authorization_finding", "check_mesh", "listing_findings"]

_UP = "start it with `toolmesh up --tools FOLDER`"


async def check_mesh(folder: Path) -> list[Finding]:
    """Check the mesh in `folder`, as far as there is one."""
    has_profile, locked = (folder / PROFILE_NAME).exists(), is_locked(DataFolder(folder))
    if not locked:
        if has_profile:
            return [problem("mesh", f"the last one in {folder} ended without cleaning up", _UP)]
        return [skipped("mesh", f"none runs in {folder}; {_UP}")]
    if not has_profile:
        return [warning("mesh", f"the one in {folder} is starting or stopping", "try again in some seconds")]
    try:
        profile, state = read_profile(folder / PROFILE_NAME), read_state(folder)
    except ToolmeshError as error:
        return [problem("mesh", error.message, error.hint)]
    findings = [
        ok("mesh", f"runs in {folder}, namespace {profile.namespace}"),
        authorization_finding(state.authorization),
    ]
    findings += await check_broker(folder, profile, state)
    if findings[-1].check == "broker":
        return findings  # it does not answer; it is asked for everything below
    try:
        async with connect_to_mesh(folder) as mesh:
            listing = await read_listing(mesh.client)
    except ToolmeshError as error:
        return [*findings, problem("catalog", error.message, error.hint)]
    return [*findings, *listing_findings(listing, state.workers)]


def authorization_finding(source: AuthorizationSource | None) -> Finding:
    """Judge what a mesh lets others do than its owner."""
    check = "authorization"
    if source is None:
        return skipped(check, "there are no roles and users: only the mesh's owner may call anything")
    try:
        authorization = read_source(source)
    except ToolmeshError as error:
        return problem(check, error.message, "correct it; until then nobody but the mesh's owner may call anything")
    match authorization.type:
        case AuthorizationType.NONE:
            return warning(check, NO_AUTHORIZATION, "set `type: default_rbac`, with roles and users")
        case AuthorizationType.DENY_ALL:
            cure = "set `type: default_rbac`, with roles and users, if that is not what you want"
            return warning(check, "nobody but the mesh's owner may call anything (`deny_all`)", cure)
        case AuthorizationType.DEFAULT_RBAC:
            return ok(check, counted(authorization))


def listing_findings(listing: MeshListing, workers: int) -> Iterator[Finding]:
    """Judge what workers and executors tell.

    Args:
        listing: What they tell.
        workers: How many workers were started here.
    """
    live = len(listing.workers)
    logs = "see logs/ in the data folder"
    if live < workers:
        yield problem("workers", f"{live} of {workers} give signs of life", logs)
    else:
        yield ok("workers", f"{live} live")
    tools = listing.tools()
    if tools:
        yield ok("tools", f"{len(tools)} served")
    else:
        yield problem("tools", "no worker serves any", "see the toolsets below, or `toolmesh tool validate FOLDER`")
    yield from _model_findings(listing)
    for tool in tools:
        if tool.versions > 1:
            detail = f"{tool.newest.tool}: {tool.versions} versions at once on {', '.join(tool.workers)}"
            yield warning(
                "versions", detail, "wait if a new version is being rolled out; else give all workers the same"
            )
    of_workers = {worker.instance for worker in listing.workers}
    for told, instances in listing.problems().items():
        check, cure = ("toolset", "repair it; `toolmesh tool validate FOLDER` shows it again, with more detail")
        if not of_workers.intersection(instances):
            check, cure = ("agent", "serve the tool (`toolmesh tools list`), or correct the agent's file")
        yield problem(check, describe_problem(told, instances), cure)


def _model_findings(listing: MeshListing) -> Iterator[Finding]:
    """Say which model tools may ask; that there is none is no problem for those that don't."""
    for executor in listing.executors:
        if executor.model:
            yield ok("model", f"tools of {executor.instance} may ask {executor.model}")
        elif executor.model is not None:
            cure = "set TOOLMESH_MODEL and its provider's key, or `models.default`, or `model` in an agent's file"
            yield skipped("model", f"none is configured on {executor.instance} for tools of agents without one; {cure}")
