"""How a command reaches a running mesh's broker as another identity than the one that calls tools."""

from pathlib import Path

from toolmesh_broker.embedded.descriptor import find_running
from toolmesh_broker.embedded.errors import BrokerNotRunningError
from toolmesh_broker.identities import Identity
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_client.profile import ClientProfile
from toolmesh_contracts.broker_config import broker_urls

__all__ = ["administrative_access"]


def administrative_access(
    folder: Path, profile: ClientProfile, pool: str, identity: Identity
) -> tuple[ConnectionSettings, tuple[str, ...]]:
    """Return how to connect as `identity`, and the pools; a broker that is not ours has one set of credentials.

    Args:
        folder: The mesh's data folder.
        profile: How programs call the mesh's tools.
        pool: The pool that the mesh was started with.
        identity: Who to be.

    Raises:
        CredentialsError: the broker was started without that identity.
    """
    try:
        running = find_running(folder)
    except BrokerNotRunningError:
        external = ConnectionSettings(
            servers=broker_urls(profile.broker_url),
            namespace=profile.namespace,
            identity=identity.name,
            nkey_seed_file=None if profile.nkey_seed_file is None else Path(profile.nkey_seed_file),
            credentials_file=None if profile.credentials_file is None else Path(profile.credentials_file),
        )
        return external, (pool,)
    return running.connection(identity), running.pools
