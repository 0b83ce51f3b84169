"""What other commands need to know of a running mesh, besides the client's profile."""

from pathlib import Path
from typing import Final

import msgspec

from toolmesh_cli.mesh_authorization import AuthorizationSource
from toolmesh_client.private_file import replace_private_file
from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["MeshState", "read_state", "write_state"]

_STATE_NAME: Final = "mesh.json"


class MeshState(msgspec.Struct, frozen=True, kw_only=True):
    """How the mesh was started."""

    pool: str
    workers: int
    agents: tuple[str, ...]
    """Agent files."""
    replicas: int = 1
    """On how many servers of a cluster its streams are meant to be."""
    authorization: AuthorizationSource | None = None
    """Where it stands what users may do; None: nowhere."""


def write_state(data_folder: Path, state: MeshState) -> None:
    """Tell other commands of this mesh."""
    content = msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n"
    replace_private_file(data_folder / _STATE_NAME, content)


def read_state(data_folder: Path) -> MeshState:
    """Read what `write_state` wrote.

    Raises:
        ToolmeshError: there is none: no mesh was started here.
    """
    path = data_folder / _STATE_NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=MeshState)
    except (OSError, msgspec.DecodeError) as error:
        raise ToolmeshError(
            f"no mesh was started in {data_folder}: {path} can't be used",
            code=ErrorCode.BROKER_UNREACHABLE,
            hint="start it with `toolmesh up --tools FOLDER`",
        ) from error
