"""`toolmesh result`: how a call ended whose caller went away, or lost the broker, before it could hear of it."""

from dataclasses import dataclass
from pathlib import Path

from toolmesh_broker.errors import BrokerRefusedError
from toolmesh_broker.ledger import ClaimState, Ledger
from toolmesh_cli.call_output import failures_as_json
from toolmesh_cli.followed_call import finish, ready_to_save
from toolmesh_cli.mesh_connection import connect_to_mesh, folder_of
from toolmesh_cli.mesh_state import read_state
from toolmesh_client.client import Client
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.names import validate_pool

__all__ = ["ResultOptions", "run_result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """What `toolmesh result` was asked for."""

    invocation: str
    pool: str | None = None
    as_json: bool = False
    save_artifacts: Path | None = None
    data_folder: Path | None = None


async def run_result(options: ResultOptions) -> int:
    """Print the stored result and return the exit code, which is that of the call.

    Raises:
        ToolmeshError: no mesh runs here, or no result is stored.
    """
    with failures_as_json(wanted=options.as_json):
        await ready_to_save(options.save_artifacts)
        async with connect_to_mesh(options.data_folder) as mesh:
            pool = validate_pool(options.pool or read_state(folder_of(options.data_folder)).pool)
            try:
                result = await mesh.client.find_result(options.invocation, pool)
            except BrokerRefusedError as error:
                known = ", ".join(mesh.profile.sealing_key_files) or "none"
                raise _none(f"nothing of a pool {pool!r} can be read here", f"known pools: {known}") from error
            if result is None:
                raise await _why_none(mesh.client, options.invocation, pool)
            return await finish(result, mesh.client.save_artifact, options.save_artifacts, as_json=options.as_json)


async def _why_none(client: Client, invocation: str, pool: str) -> ToolmeshError:
    claim = await Ledger(client.broker).look(pool, invocation)
    worker = claim.entry.worker if claim.entry is not None else ""
    if claim.state is ClaimState.LIVE:
        return _none(f"call {invocation} still runs on {worker}", "ask again later")
    if claim.state is ClaimState.DEAD:
        return _none(f"the worker {worker} that ran call {invocation} is gone", "ask again in a few seconds")
    if claim.state is ClaimState.CANCELLED:
        return _none(f"call {invocation} was cancelled", "check what the tool did before calling it again")
    return _none(
        f"pool {pool} holds no result of call {invocation}",
        "it waits in the queue, or its caller has the result, or its deadline is more than a day ago; "
        "`--pool` names another pool",
    )


def _none(message: str, hint: str) -> ToolmeshError:
    return ToolmeshError(message, code=ErrorCode.PAYLOAD_MISSING, hint=hint)
