"""What a caller asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toolmesh_client.secrets_box import Secret
from toolmesh_contracts.envelopes.values import ArtifactRef
from toolmesh_contracts.names import Lane

__all__ = ["CallRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """One call of a remote tool.

    Attributes:
        tool: The tool's name on its workers.
        arguments: An object, or its JSON as bytes, which travel as they are.
        pool: Pool of workers; needed only when several serve the tool.
        exposed_name: The name a model called, if it is another one.
        timeout_s: Seconds until the call's deadline; None is the tool's own limit plus a minute in the queue. The
            deadline is never past the token's expiry.
        tool_timeout_s: Wall clock for the tool in seconds, if shorter than its manifest's.
        lane: Urgency, if not the tool's own.
        artifacts: Input files by parameter (`name`, or `name[i]` for lists): stored ones, or local files to store.
        tool_config: The operator's settings, without secrets.
        secrets: The operator's secret settings; sealed to the pool.
        required_scopes: Scopes that the caller must hold besides those of the tool's manifest.
        token: The caller's token; None takes the client's own.
        user_profile: What the tool may know of the caller.
        agent: The agent that calls, if the token doesn't name it.
        session: The session of the call, if the token doesn't name it.
        task: The task of the call, if the token doesn't name it.
        turn: Turn of the agent whose workspace a declared tool shares: its calls run one after another, and find each
            other's files. Empty: a workspace of the call's own.
        requeued_from: Id of the dead letter that is called again.
        traceparent: W3C Trace Context of the caller; empty starts a new trace.
        outlives_caller: Whoever stops waiting, or closes the client, leaves the call to a successor who asks for its
            result (`Client.recover`); else it is cancelled.
    """

    tool: str
    arguments: Mapping[str, object] | bytes = field(default_factory=dict)
    pool: str | None = None
    exposed_name: str = ""
    timeout_s: float | None = None
    tool_timeout_s: float | None = None
    lane: Lane | None = None
    artifacts: Mapping[str, ArtifactRef | Path] = field(default_factory=dict)
    tool_config: Mapping[str, object] = field(default_factory=dict)
    secrets: Sequence[Secret] = ()
    required_scopes: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)
    user_profile: Mapping[str, object] | None = None
    agent: str = ""
    session: str = ""
    task: str = ""
    turn: str = ""
    requeued_from: str = ""
    traceparent: str = ""
    outlives_caller: bool = False
