"""From a service's `broker:` configuration to the settings of its connection."""

from pathlib import Path

from toolmesh_broker.settings import ConnectionSettings, TlsSettings
from toolmesh_contracts.broker_config import BrokerConfig

__all__ = ["connection_settings"]


def connection_settings(config: BrokerConfig, folder: Path, *, namespace: str, identity: str) -> ConnectionSettings:
    """Return the settings; relative file names start at `folder`, that of the configuration file."""

    def path(name: str | None) -> Path | None:
        return None if name is None else folder / name

    tls = config.tls
    return ConnectionSettings(
        servers=config.urls,
        namespace=namespace,
        identity=identity,
        user=config.user,
        password=config.password,
        token=config.token,
        credentials_file=path(config.credentials_file),
        nkey_seed_file=path(config.nkey_seed_file),
        tls=None
        if tls is None
        else TlsSettings(ca_file=path(tls.ca), certificate_file=path(tls.cert), key_file=path(tls.key)),
    )
