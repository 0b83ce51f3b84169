"""A dead letter is called again as a new call of whoever asks for it, or refused with the reason."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.scripted_worker import echo
from tests.support.signed_calls import invocation
from tests.support.tool_client import memory_mesh

from toolmesh_broker.dead_letters import KeptLetter
from toolmesh_client.errors import NotCallableAgainError
from toolmesh_client.requeue import call_again
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.task import DeadLetter
from toolmesh_contracts.envelopes.values import ArtifactRef, Caller, PayloadRef
from toolmesh_contracts.errors import ErrorCode


def letter(call: Invocation | None, *, pool: str = "default") -> KeptLetter:
    """A letter of the pool `default` about a call."""
    dead = DeadLetter(
        pool=pool,
        subject="s",
        stream_sequence=1,
        code=ErrorCode.PERMISSION_DENIED,
        reason="r",
        at_ms=1,
        invocation=call,
    )
    return KeptLetter(call.id if call else "unknown-1", "default", 1, dead)


async def test_new_call_names_the_old_one_and_takes_nothing_of_its_caller(tmp_path: Path) -> None:
    """Another id and deadline, the requester's user; arguments, settings and scopes of the agent's entry stay."""
    dead = invocation(
        tool="echo",
        deadline_ms=1,
        arguments=msgspec.Raw(b'{"a": 1}'),
        tool_config=msgspec.Raw(b'{"units": "metric"}'),
        caller=Caller(user="mallory", agent="a", session="s", task="t"),
        user_profile=msgspec.Raw(b'{"id":"mallory"}'),
        workspace_turn="turn",
    )
    seen: list[Invocation] = []

    async def look(job: Any) -> Any:
        seen.append(job.invocation)
        return await echo(job)

    async with memory_mesh(tmp_path, {"echo": look}) as (_hub, client, _worker):
        result = await client.run(await call_again(client.broker, letter(dead)))
        assert result.data == {"a": 1}
    [new] = seen
    assert new.requeued_from == dead.id
    assert new.id != dead.id
    assert new.deadline_ms > dead.deadline_ms
    assert new.caller == Caller(user="ada", agent="")
    assert new.required_scopes == dead.required_scopes
    assert bytes(msgspec.json.encode(new.tool_config)) == b'{"units":"metric"}'
    assert (new.user_profile, new.workspace_turn) == (msgspec.UNSET, None)


async def test_letter_never_leads_to_another_pool(tmp_path: Path) -> None:
    """A worker can write letters of its own pool only, and what they say of another pool counts for nothing."""
    forged = letter(invocation(tool="echo", pool="other"), pool="other")
    async with memory_mesh(tmp_path, {"echo": echo}) as (_hub, client, _worker):
        assert (await call_again(client.broker, forged)).pool == "default"


def _no_call(call: Invocation) -> None:
    return None


def _sealed(call: Invocation) -> Invocation:
    return msgspec.structs.replace(call, sealed_config="box")


def _gone(bucket: str) -> PayloadRef:
    return PayloadRef(bucket=bucket, object="x", size=1, sha256="0" * 64)


def _large(call: Invocation) -> Invocation:
    reference = _gone("TM__contract__PAYLOADS__default")
    return msgspec.structs.replace(call, arguments=msgspec.UNSET, arguments_payload=reference)


def _with_file(call: Invocation) -> Invocation:
    payload = _gone("TM__contract__PAYLOADS__default")
    file = ArtifactRef(filename="f", mime_type="x/y", size=1, sha256="0" * 64, payload=payload)
    return msgspec.structs.replace(call, artifacts={"f": file})


def _odd_settings(call: Invocation) -> Invocation:
    return msgspec.structs.replace(call, tool_config=msgspec.Raw(b"[1]"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_no_call, "could not be read"),
        (_sealed, "secrets"),
        (_large, "gone"),
        (_with_file, "gone"),
        (_odd_settings, "no JSON object"),
    ],
)
async def test_what_a_new_call_would_lack_is_told(
    tmp_path: Path, change: Callable[[Invocation], Invocation | None], why: str
) -> None:
    """A message that nobody could read, secrets sealed to one call, and contents that expired can't be made up for."""
    async with memory_mesh(tmp_path, {"echo": echo}) as (_hub, client, _worker):
        with pytest.raises(NotCallableAgainError, match=why) as refused:
            await call_again(client.broker, letter(change(invocation(tool="echo"))))
        assert refused.value.hint


async def test_sealed_settings_are_left_out_for_whoever_has_them_anew(tmp_path: Path) -> None:
    """All of the settings, as the clear ones belong to them; without, the refusal names the command."""
    call = _sealed(
        invocation(tool="echo", tool_config=msgspec.Raw(b'{"units": 1}'), caller=Caller(user="u", agent="a b"))
    )
    async with memory_mesh(tmp_path, {"echo": echo}) as (_hub, client, _worker):
        request = await call_again(client.broker, letter(call), with_settings=False)
        with pytest.raises(NotCallableAgainError) as refused:
            await call_again(client.broker, letter(call))
    assert (request.tool_config, request.secrets) == ({}, ())
    assert f"`toolmesh dead requeue {call.id} --agent 'a b'`" in refused.value.hint


async def test_large_arguments_that_are_still_there_are_sent_again(tmp_path: Path) -> None:
    """They are read from the payload store and stored anew for the new call."""
    document = b'{"x":"' + b"a" * 400_000 + b'"}'

    async with memory_mesh(tmp_path, {"echo": echo}) as (_hub, client, _worker):
        reference = await client.broker.payloads("default").put("old", document, 60)
        call = invocation(tool="echo", arguments=msgspec.UNSET, arguments_payload=reference)
        request = await call_again(client.broker, letter(call))
        assert request.arguments == document
