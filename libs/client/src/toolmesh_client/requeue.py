"""Makes a new call from a dead letter: another id, deadline and token; the old id is only named."""

import shlex
from typing import Any, Final

import msgspec

from toolmesh_broker.claim_check import check_out
from toolmesh_broker.dead_letters import KeptLetter
from toolmesh_broker.errors import PayloadCorruptError, PayloadMissingError
from toolmesh_broker.ports import Broker
from toolmesh_client.errors import NotCallableAgainError
from toolmesh_client.request import CallRequest
from toolmesh_contracts.envelopes.invocation import Invocation

__all__ = ["call_again"]

_MAX_ARGUMENTS: Final = 256 * 1024 * 1024


async def call_again(
    broker: Broker, kept: KeptLetter, *, timeout_s: float | None = None, with_settings: bool = True
) -> CallRequest:
    """Return the request of a new call that does what the dead one was to do, on behalf of whoever makes it.

    Workers of a pool write that pool's letters, so the call goes to the letter's own pool, whatever its content says.
    Nothing of the former caller goes along: not its token, agent, session, profile or workspace.

    Args:
        broker: An executor's connection.
        kept: The letter.
        timeout_s: Seconds until the new call's deadline; None is the tool's own limit plus a minute in the queue.
        with_settings: Take the letter's settings along; without, the caller has the tool's settings from elsewhere.

    Raises:
        NotCallableAgainError: the letter is no whole call, or what it refers to is gone.
        BrokerError: the broker does not answer.
    """
    call = kept.letter.invocation
    if call is None:
        raise _refusal(kept, "the message could not be read, so nobody knows what it asked for", "drop it")
    if with_settings and call.sealed_config is not None:
        reason = "its settings hold secrets, which are sealed to that one call"
        raise _refusal(kept, reason, _settings_again(kept, call))
    try:
        arguments = await _arguments(broker, kept, call)
        store = broker.payloads(kept.pool)
        for artifact in call.artifacts.values():
            async for _chunk in store.open(artifact.payload):
                break
    except (PayloadMissingError, PayloadCorruptError) as error:
        raise _refusal(kept, f"its large arguments or files are gone: {error.message}", "give them anew") from error
    return CallRequest(
        tool=call.tool,
        arguments=arguments,
        pool=kept.pool,
        exposed_name=call.exposed_name,
        timeout_s=timeout_s,
        tool_timeout_s=None if call.timeout_ms is None else call.timeout_ms / 1000,
        artifacts=call.artifacts,
        tool_config=_settings(kept, call) if with_settings else {},
        required_scopes=call.required_scopes,
        requeued_from=kept.id,
    )


async def _arguments(broker: Broker, kept: KeptLetter, call: Invocation) -> bytes:
    if call.arguments_payload is not None:
        return await check_out(broker.payloads(kept.pool), call.arguments_payload, max_bytes=_MAX_ARGUMENTS)
    return b"{}" if isinstance(call.arguments, msgspec.UnsetType) else bytes(call.arguments)


def _settings(kept: KeptLetter, call: Invocation) -> dict[str, Any]:
    if isinstance(call.tool_config, msgspec.UnsetType):
        return {}
    try:
        return msgspec.json.decode(call.tool_config, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refusal(kept, f"its tool_config is no JSON object: {error}", "correct the agent's settings") from error


def _settings_again(kept: KeptLetter, call: Invocation) -> str:
    """Return how to call with the settings again; who made the call is what the letter says, so only a suggestion."""
    if not call.caller.agent:
        return "whoever has the settings calls the tool again with the arguments that `toolmesh dead show` shows"
    command = shlex.join(["toolmesh", "dead", "requeue", kept.id, "--agent", call.caller.agent])
    return f"`{command}` takes them from the agent's file; add `--agents FILE` if the mesh runs without it"


def _refusal(kept: KeptLetter, reason: str, hint: str) -> NotCallableAgainError:
    return NotCallableAgainError(f"dead letter {kept.id} can't be called again: {reason}", hint=hint)
