"""Writes what the parts of a mesh read at their start: configuration without secrets, naming key files by path.

A worker's file names its own broker seed, its pool's private sealing keys and public keys; nothing else.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from toolmesh_broker.settings import ConnectionSettings
from toolmesh_cli.mesh_options import MeshOptions
from toolmesh_client.private_file import replace_private_file
from toolmesh_client.profile import ClientProfile, DevelopmentTokens
from toolmesh_identity.development import DevelopmentIssuer

__all__ = [
    "client_profile",
    "executor_config",
    "worker_config",
    "write_config",
]

DRAIN_S: Final = 30
_LEASE_S: Final = 6
_LEASE_ON_CLUSTER_S: Final = 15
"""Servers of a cluster take up to 9 s to choose another leader for the ledger."""
_OWNER: Final = "developer"
_HEADER: Final = "# Written by `toolmesh up` at every start; changes here are lost.\n"


def worker_config(
    options: MeshOptions,
    worker_id: str,
    connection: ConnectionSettings,
    toolsets: Sequence[Path],
    issuer: DevelopmentIssuer,
) -> dict[str, Any]:
    """Return one worker's configuration."""
    return {
        "namespace": options.namespace,
        "pool": options.pool,
        "worker_id": worker_id,
        "broker": _broker(connection),
        "toolsets": [str(path) for path in toolsets],
        "sandbox": {"mode": options.sandbox} | ({"allow_direct": True} if options.sandbox == "direct" else {}),
        "keys": {
            "issuer": str(issuer.issuer_public_file),
            "issuer_name": issuer.name,
            "executors": str(issuer.executor_public_file),
            "sealing": str(issuer.sealing_key_file(options.pool)),
        },
        "drain_seconds": DRAIN_S,
        "lease_seconds": _LEASE_S if options.replicas == 1 else _LEASE_ON_CLUSTER_S,
        "health": {"port": 0},
    }


def executor_config(
    options: MeshOptions,
    executor_id: str,
    connection: ConnectionSettings,
    agents: Sequence[Path],
    issuer: DevelopmentIssuer,
) -> dict[str, Any]:
    """Return the executor's configuration."""
    return {
        "namespace": options.namespace,
        "executor_id": executor_id,
        "broker": _broker(connection),
        "agents": [str(path) for path in agents],
        "keys": {
            "signing": str(issuer.executor_key_file),
            "issuer": str(issuer.issuer_public_file),
            "issuer_name": issuer.name,
            "executors": str(issuer.executor_public_file),
            "sealing": {options.pool: str(issuer.sealing_public_file(options.pool))},
        },
        "health": {"port": 0},
    }


def client_profile(
    options: MeshOptions, executor: str, connection: ConnectionSettings, issuer: DevelopmentIssuer
) -> ClientProfile:
    """Return how programs on this machine call the mesh's tools, as the developer who started it."""
    return ClientProfile(
        namespace=options.namespace,
        broker_url=",".join(connection.servers),
        executor=executor,
        identity=connection.identity,
        executor_key_file=str(issuer.executor_key_file),
        tokens=DevelopmentTokens(folder=str(issuer.folder), subject=_OWNER, scopes=("*",)),
        nkey_seed_file=_text(connection.nkey_seed_file),
        credentials_file=_text(connection.credentials_file),
        sealing_key_files={options.pool: str(issuer.sealing_public_file(options.pool))},
    )


def write_config(folder: Path, name: str, config: Mapping[str, Any]) -> Path:
    """Write a part's configuration to `<folder>/<name>.yaml` (mode 0600), and return its path."""
    path = folder / f"{name}.yaml"
    text = _HEADER + yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)
    replace_private_file(path, text.encode())
    return path


def _broker(connection: ConnectionSettings) -> dict[str, Any]:
    files = {
        "nkey_seed_file": _text(connection.nkey_seed_file),
        "credentials_file": _text(connection.credentials_file),
    }
    return {"url": ",".join(connection.servers)} | {key: path for key, path in files.items() if path is not None}


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
