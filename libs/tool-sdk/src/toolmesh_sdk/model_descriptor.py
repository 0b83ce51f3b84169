"""New connections to the host through a descriptor that it handed over: no socket has to be made for them.

The descriptor carries packets. Each packet sent there is answered by one that brings a connection along. They are all
alike, so that processes which share the descriptor may take each other's.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

PREFIX = "fd:"
"""An address of this form names a descriptor; any other is the path of a socket."""


def open_connection(address: str, limit_s: float | None = None) -> socket:
    """Return a connection of the calling process's own.

    Args:
        address: `fd:NUMBER`.
        limit_s: How long to wait for it, in seconds; None waits for ever.

    Raises:
        TimeoutError: The host has none to give within `limit_s`.
        OSError: The descriptor is closed, or the host is gone.
        ValueError: The address is of another form.
    """
    import socket

    # The file behind the descriptor is shared, also whether it blocks: with a limit, Python waits by itself.
    with socket.socket(fileno=_duplicate(int(address.removeprefix(PREFIX)))) as dispenser:
        dispenser.settimeout(1e6 if limit_s is None else limit_s)
        dispenser.send(b"1")
        data, descriptors, _flags, _address = socket.recv_fds(dispenser, 1, 1)
    if not descriptors:
        raise ConnectionError("the host has none to give just now" if data else "the host closed it")
    connection = socket.socket(fileno=descriptors[0])
    connection.set_inheritable(False)
    connection.settimeout(limit_s)
    return connection


def _duplicate(descriptor: int) -> int:
    from os import dup

    return dup(descriptor)
