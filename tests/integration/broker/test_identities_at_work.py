"""Each identity does its whole work with its own key, on a server that denies everything else; and a hostile one tries more."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.embedded_broker import POOLS, SUBJECTS, connect_plainly, embedded_broker

from toolmesh_broker.embedded import EmbeddedServer
from toolmesh_broker.errors import BrokerPermissionError, NoRespondersError
from toolmesh_broker.identities import Executor, Provisioner, Worker
from toolmesh_broker.jetstream.broker import JetStreamBroker, connect
from toolmesh_broker.ports import Entry, InitialDone, Message, OutgoingInvocation, PublishReceipt
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_contracts.names import Lane

_DEADLINE_S = 10.0


@dataclass(frozen=True)
class Mesh:
    """A provisioned server and one connection of each kind."""

    server: EmbeddedServer
    executor: JetStreamBroker
    alpha: JetStreamBroker
    beta: JetStreamBroker


@contextlib.asynccontextmanager
async def running_mesh(folder: Path) -> AsyncIterator[Mesh]:
    async with (
        embedded_broker(folder) as server,
        connect(server.connection(Provisioner())) as provisioner,
        provisioner.provisioned(POOLS),
        connect(server.connection(Executor("one"))) as executor,
        connect(server.connection(Worker("alpha", "w1"))) as alpha,
        connect(server.connection(Worker("beta", "w1"))) as beta,
        asyncio.timeout(40),
    ):
        yield Mesh(server, executor, alpha, beta)


async def queue(broker: JetStreamBroker, pool: str, body: bytes = b"{}") -> PublishReceipt:
    invocation = new_invocation_id()
    return await broker.publish_invocation(
        OutgoingInvocation(
            pool=pool,
            subject=SUBJECTS.invoke(pool, Lane.NORMAL, "agent", "user"),
            invocation=invocation,
            body=body,
            deadline_ms=int((time.time() + 60) * 1000),
        )
    )


async def test_a_call_is_queued_taken_recorded_answered_and_settled(tmp_path: Path) -> None:
    """Executor and worker do everything one call needs, across their accounts."""
    heard: list[tuple[str, bytes]] = []

    async def confirm(message: Message) -> None:
        heard.append((message.subject, message.body))
        await message.respond(b"confirmed")

    async with running_mesh(tmp_path / "broker") as mesh:
        receipt = await queue(mesh.executor, "alpha", b"a call")
        ledger = SUBJECTS.ledger_bucket()
        async with (
            mesh.executor.subscribe(SUBJECTS.replies_to("one"), confirm),
            mesh.alpha.consume("alpha", lambda: 1) as intake,
        ):
            delivery = await asyncio.wait_for(anext(intake), _DEADLINE_S)
            assert (delivery.body, delivery.sequence) == (b"a call", receipt.sequence)
            key = SUBJECTS.call_key("alpha", "call-1")
            revision = await mesh.alpha.keyvalue(ledger).create(key, b"running", 60)
            revision = await mesh.alpha.keyvalue(ledger).update(key, b"renewed", revision, 60)
            await delivery.in_progress()
            subject = SUBJECTS.reply("alpha", "one", "call-1")
            await mesh.alpha.publish(subject, b"status")
            answer = await mesh.alpha.request(subject, b"result", _DEADLINE_S)
            assert answer.body == b"confirmed"
            await mesh.alpha.keyvalue(SUBJECTS.result_bucket()).create(key, b"result", 60)
            await delivery.ack()
        assert sorted(body for _, body in heard) == [b"result", b"status"]
        assert {subject for subject, _ in heard} == {subject}

        entry = await mesh.executor.keyvalue(ledger).get(key)
        assert entry is not None
        assert (entry.value, entry.revision) == (b"renewed", revision)
        stored = await mesh.executor.keyvalue(SUBJECTS.result_bucket()).get(key)
        assert stored is not None
        assert stored.value == b"result"


async def test_a_call_is_handed_back_withdrawn_cancelled_or_buried(tmp_path: Path) -> None:
    """The ways of a call other than success: nak, delete, a ledger entry of the executor, term and dead letter."""
    async with running_mesh(tmp_path / "broker") as mesh:
        first = await queue(mesh.executor, "alpha")
        assert await mesh.executor.delete_invocation(first)
        assert not await mesh.executor.delete_invocation(first)
        await mesh.executor.keyvalue(SUBJECTS.ledger_bucket()).create(SUBJECTS.call_key("alpha", "c"), b"cancelled", 60)

        await queue(mesh.executor, "alpha", b"second")
        async with mesh.alpha.consume("alpha", lambda: 1) as intake:
            delivery = await asyncio.wait_for(anext(intake), _DEADLINE_S)
            await delivery.nak()
            delivery = await asyncio.wait_for(anext(intake), _DEADLINE_S)
            assert delivery.delivered == 2
            letter = SUBJECTS.dead_letter("alpha", "second")
            await mesh.alpha.append(SUBJECTS.dead_stream("alpha"), letter, b"why", message_id="second")
            await delivery.term("poison")


async def test_payloads_pass_between_executor_and_worker_both_ways(tmp_path: Path) -> None:
    """More than one batch of chunks, written by one account, is read and removed by the other."""
    content = bytes(range(256)) * 4 * 1024 * 3
    async with running_mesh(tmp_path / "broker") as mesh:
        for writer, reader in ((mesh.executor, mesh.alpha), (mesh.alpha, mesh.executor)):
            reference = await writer.payloads("alpha").put("some/name", content, 60)
            read = b"".join([chunk async for chunk in reader.payloads("alpha").open(reference)])
            assert read == content
            await reader.payloads("alpha").delete(reference)


async def test_an_executor_sees_the_tools_of_all_pools(tmp_path: Path) -> None:
    """What workers write into the catalog reaches a watch in the executors' account; heartbeats are written too."""
    bucket = SUBJECTS.catalog_bucket()
    async with running_mesh(tmp_path / "broker") as mesh:
        await mesh.alpha.keyvalue(bucket).put(SUBJECTS.catalog_key("alpha", "t", "w1"), b"a", 60)
        async with mesh.executor.keyvalue(bucket).watch() as watch:
            assert await asyncio.wait_for(anext(watch), _DEADLINE_S) == Entry("alpha.t.w1", b"a", 1)
            assert await asyncio.wait_for(anext(watch), _DEADLINE_S) == InitialDone()
            await mesh.beta.keyvalue(bucket).put(SUBJECTS.catalog_key("beta", "t", "w1"), b"b", 60)
            assert await asyncio.wait_for(anext(watch), _DEADLINE_S) == Entry("beta.t.w1", b"b", 2)
        for broker, key in ((mesh.alpha, "alpha.w1"), (mesh.beta, "beta.w1"), (mesh.executor, "_executors.one")):
            await broker.keyvalue(SUBJECTS.heartbeat_bucket()).put(key, b"alive", 60)
        assert len(await mesh.executor.keyvalue(SUBJECTS.heartbeat_bucket()).keys()) == 3


async def test_requests_reach_workers_and_nobody_listening_is_told(tmp_path: Path) -> None:
    """Control, direct and describe cross from executor to worker and back, also the news that nobody listens."""

    async def answer(message: Message) -> None:
        await message.respond(b"from alpha")

    async with running_mesh(tmp_path / "broker") as mesh:
        asked = (
            (SUBJECTS.control("alpha", "w1"), ""),
            (SUBJECTS.direct("alpha", "w1"), ""),
            (SUBJECTS.describe("alpha", "tool"), "describers"),
        )
        for subject, group in asked:
            with pytest.raises(NoRespondersError):
                await mesh.executor.request(subject, b"", _DEADLINE_S)
            async with mesh.alpha.subscribe(subject, answer, queue=group):
                reply = await mesh.executor.request(subject, b"", _DEADLINE_S)
                assert reply.body == b"from alpha"
        with pytest.raises(NoRespondersError):
            await mesh.alpha.request(SUBJECTS.reply("alpha", "one", "call"), b"", _DEADLINE_S)


async def test_a_worker_that_vanishes_takes_no_call_along(tmp_path: Path) -> None:
    """The waiting pull of a cut connection is forgotten, although it came from another account."""
    async with running_mesh(tmp_path / "broker") as mesh:
        gone = await connect_plainly(mesh.server.connection(Worker("alpha", "w2")))
        inbox = f"{SUBJECTS.inbox_prefix(Worker('alpha', 'w2').name)}.pull"
        await gone.subscribe(inbox)
        pull = f"$JS.API.CONSUMER.MSG.NEXT.{SUBJECTS.invoke_stream('alpha')}.normal-{_shard()}"
        await gone.publish(pull, json.dumps({"batch": 1, "expires": 30_000_000_000}).encode(), reply=inbox)
        await gone.request("$JS.API.INFO", timeout=5)
        await gone.close()
        async with mesh.alpha.consume("alpha", lambda: 1) as intake:
            await queue(mesh.executor, "alpha", b"mine")
            delivery = await asyncio.wait_for(anext(intake), 3)  # shorter than the 6 s after which it would come again
            assert (delivery.body, delivery.delivered) == (b"mine", 1)
            await delivery.ack()


async def test_a_worker_of_one_pool_is_told_that_another_is_closed_to_it(tmp_path: Path) -> None:
    """The broker's denial arrives as a typed error, not as a timeout."""
    async with running_mesh(tmp_path / "broker") as mesh:
        with pytest.raises(BrokerPermissionError):
            await mesh.alpha.keyvalue(SUBJECTS.ledger_bucket()).get(SUBJECTS.call_key("beta", "call"))
        with pytest.raises(BrokerPermissionError):
            await queue(mesh.alpha, "alpha")


@pytest.mark.parametrize("identity", [Worker("alpha", "w1"), Executor("one")], ids=["worker", "executor"])
@pytest.mark.requirement("identity:least-subjects")
async def test_no_reply_subject_lends_the_servers_rights(tmp_path: Path, identity: Worker | Executor) -> None:
    """A hostile identity can't have JetStream's answers sent where it may not publish itself.

    JetStream answers with the server's own rights, so in one shared account each of these would delete a stream or
    forge another pool's reply.
    """
    forged: list[bytes] = []
    queue_of_beta = SUBJECTS.invoke_stream("beta")
    victims = (
        f"$JS.API.STREAM.PURGE.{queue_of_beta}",
        f"$JS.API.STREAM.DELETE.{queue_of_beta}",
        SUBJECTS.invoke("beta", Lane.NORMAL, "agent", "user"),
        SUBJECTS.reply("beta", "two", "call"),
        f"$KV.{SUBJECTS.ledger_bucket()}.beta.call",
        f"{SUBJECTS.inbox_prefix(Executor('two').name)}.x",
        f"{SUBJECTS.inbox_prefix(Provisioner().name)}.x",
    )

    async def note(message: Message) -> None:
        forged.append(message.body)

    ledger = SUBJECTS.ledger_bucket()
    own_key = SUBJECTS.call_key("alpha", "own")
    async with (
        running_mesh(tmp_path / "broker") as mesh,
        connect(mesh.server.connection(Provisioner())) as provisioner,
        provisioner.subscribe(f"{SUBJECTS.inbox_prefix(Provisioner().name)}.x", note),
    ):
        receipt = await queue(mesh.executor, "beta", b"precious")
        await mesh.alpha.keyvalue(ledger).put(own_key, b"", 60)
        hostile = await connect_plainly(mesh.server.connection(identity))
        for victim in victims:
            await hostile.publish(f"$JS.API.DIRECT.GET.KV_{ledger}.$KV.{ledger}.{own_key}", b"", reply=victim)
            await hostile.publish(f"$KV.{ledger}.{own_key}", b"", reply=victim)
            await hostile.publish("$JS.API.INFO", b"", reply=victim)
            await hostile.publish(f"$JS.API.STREAM.MSG.DELETE.{SUBJECTS.invoke_stream('alpha')}", b"{}", reply=victim)
        await hostile.request("$JS.API.INFO", timeout=5)
        await hostile.close()

        async with mesh.beta.consume("beta", lambda: 5) as intake:
            delivery = await asyncio.wait_for(anext(intake), _DEADLINE_S)
            assert (delivery.body, delivery.sequence) == (b"precious", receipt.sequence)
            await delivery.ack()
            await queue(mesh.executor, "beta", b"next")
            following = await asyncio.wait_for(anext(intake), _DEADLINE_S)
            assert (following.body, following.sequence) == (b"next", receipt.sequence + 1)
            await following.ack()
        assert await mesh.beta.keyvalue(ledger).get(SUBJECTS.call_key("beta", "call")) is None
        assert forged == []


def _shard() -> int:
    return SUBJECTS.parse_invoke(SUBJECTS.invoke("alpha", Lane.NORMAL, "agent", "user")).shard
