"""Who a client is, whom it asks, and how long it waits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolmesh_broker.settings import ConnectionSettings
from toolmesh_client.tokens import TokenSource
from toolmesh_contracts.call_steps import CallObserver, observe_nothing
from toolmesh_identity.keys import SealingPublicKey, SigningKey

__all__ = ["ClientSettings", "Patience"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a client waits for what, in seconds."""

    queue_s: float = 60.0
    """Time in the queue, added to the tool's own limit where a call names no deadline."""
    grace_s: float = 3.0
    """After the deadline, for a result that is on its way."""
    verdict_s: float = 3.0
    """Then, for the broker to say what became of the call."""
    queued_look_s: float = 5.0
    """Until a silent queued call is looked up; doubles up to `longest_look_s`."""
    longest_look_s: float = 30.0
    running_look_s: float = 3.0
    """Between looks at a silent running call."""
    dead_look_s: float = 0.5
    """Between looks at a call whose lease has run out."""
    dead_s: float = 3.0
    """For another worker to take over a call whose lease has run out, or to answer for it."""
    cancel_repeat_s: float = 1.0
    """Between cancel messages to a worker that has not answered yet."""
    close_s: float = 5.0
    """For open calls to be withdrawn when the client closes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Everything that `connect` needs."""

    executor: str
    """This client's id: replies go to it. Unique per process, unless `shared`."""
    connection: ConnectionSettings
    signing_key: SigningKey
    tokens: TokenSource
    sealing_keys: Mapping[str, SealingPublicKey] = field(default_factory=dict)
    """Public key of each pool to which secrets may be sent."""
    patience: Patience = field(default_factory=Patience)
    status_capacity: int = 256
    """Most statuses that wait for a slow reader of one call; older ones are dropped."""
    max_result_bytes: int = 256 * 1024 * 1024
    """Largest result document that is loaded into memory."""
    shared: bool = False
    """Whether other processes may use the same id: then replies are heard call by call."""
    observer: CallObserver = observe_nothing
    """Awaited at the executor's steps of each call."""

    @property
    def namespace(self) -> str:
        """The namespace of all calls."""
        return self.connection.namespace
