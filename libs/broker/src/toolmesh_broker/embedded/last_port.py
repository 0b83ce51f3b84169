"""The port that a data folder's server had last: taken again, so that whoever lost that one finds the next."""

import socket

from toolmesh_broker.embedded.data_folder import DataFolder

__all__ = ["free_last_port"]


def free_last_port(folder: DataFolder) -> int | None:
    """Return the last server's port on loopback; None if there was none, or another program has it now."""
    try:
        port = int(folder.last_port.read_text())
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # As nats-server does: connections of the last server that are still closing don't count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except (OSError, ValueError, OverflowError):
        return None
    return port or None
