"""How another program on the machine finds a running broker: a small file in the data folder."""

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmesh_broker.credentials import CredentialsError
from toolmesh_broker.embedded.data_folder import DataFolder, is_locked, write_private
from toolmesh_broker.embedded.errors import BrokerNotRunningError
from toolmesh_broker.identities import Identity
from toolmesh_broker.settings import ConnectionSettings

__all__ = ["RunningBroker", "find_running", "write_descriptor"]

_SCHEMA: Final = "broker/1"


@dataclass(frozen=True, slots=True)
class RunningBroker:
    """A running embedded server, as others see it."""

    url: str
    namespace: str
    pools: tuple[str, ...]
    identities: tuple[str, ...]
    """Names of the identities whose seed files are in the data folder."""
    folder: Path

    def connection(self, identity: Identity) -> ConnectionSettings:
        """Return how to connect as `identity`.

        Raises:
            CredentialsError: the broker was started without that identity.
        """
        if identity.name not in self.identities:
            raise CredentialsError(
                f"the broker of {self.folder} knows no identity {identity.name!r}",
                hint=f"it knows {', '.join(self.identities)}",
            )
        return ConnectionSettings(
            servers=(self.url,),
            namespace=self.namespace,
            identity=identity.name,
            nkey_seed_file=DataFolder(self.folder).seed_file(identity),
        )


def find_running(data_folder: Path) -> RunningBroker:
    """Return the broker that runs in `data_folder` now.

    Raises:
        BrokerNotRunningError: none runs there; a file that a killed one left is not taken for one.
    """
    folder = DataFolder(data_folder)
    content: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        content = json.loads(folder.descriptor.read_bytes())
    try:
        if content["schema"] == _SCHEMA and is_locked(folder):
            return RunningBroker(
                content["url"],
                content["namespace"],
                tuple(content["pools"]),
                tuple(content["identities"]),
                data_folder,
            )
    except (KeyError, TypeError):
        pass
    raise BrokerNotRunningError(f"no broker runs in {data_folder}", hint="start one with: toolmesh up --tools FOLDER")


def write_descriptor(folder: DataFolder, broker: RunningBroker, server_pid: int) -> None:
    """Tell others of the running broker; the file names whose keys there are, but holds no secret."""
    content = {
        "schema": _SCHEMA,
        "url": broker.url,
        "namespace": broker.namespace,
        "pools": broker.pools,
        "identities": broker.identities,
        "server_pid": server_pid,
    }
    write_private(folder.descriptor, json.dumps(content, indent=2) + "\n")
