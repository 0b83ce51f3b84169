"""A nats-server of toolmesh's own: started, guarded and stopped with the program that needs it."""

from toolmesh_broker.embedded.binary import ServerBinary, find_server_binary
from toolmesh_broker.embedded.descriptor import RunningBroker, find_running
from toolmesh_broker.embedded.server import EmbeddedServer, EmbeddedSettings

__all__ = ["EmbeddedServer", "EmbeddedSettings", "RunningBroker", "ServerBinary", "find_running", "find_server_binary"]
