"""Call a tool, follow its statuses, get its result, cancel it."""

from toolmesh_client.call import Call
from toolmesh_client.client import Client
from toolmesh_client.connect import client_over, connect
from toolmesh_client.connection_change import ConnectionChange
from toolmesh_client.errors import ClientError
from toolmesh_client.request import CallRequest
from toolmesh_client.result import CallResult
from toolmesh_client.secrets_box import Secret
from toolmesh_client.settings import ClientSettings, Patience

__all__ = [
    "Call",
    "CallRequest",
    "CallResult",
    "Client",
    "ClientError",
    "ClientSettings",
    "ConnectionChange",
    "Patience",
    "Secret",
    "client_over",
    "connect",
]
