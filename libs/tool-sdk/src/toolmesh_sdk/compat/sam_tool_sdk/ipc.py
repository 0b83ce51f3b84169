"""The published module `ipc`, from toolmesh_sdk."""

from toolmesh_sdk.errors import IPCError as IPCError
from toolmesh_sdk.model_channel import IPCClient as IPCClient
