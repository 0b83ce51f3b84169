"""The broker is killed, paused, restarted and overrun; calls, watches and waiters come through."""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.brokers import (
    ACK_WAIT_S,
    NAMESPACE,
    POOL,
    deadline_in,
    eventually,
    jetstream_settings,
    outgoing,
    provisioned_jetstream,
)
from tests.support.fake_nats import fake_nats
from tests.support.nats_server import nats_server

from toolmesh_broker.errors import (
    BrokerClosedError,
    BrokerError,
    BrokerRefusedError,
    BrokerTimeoutError,
    BrokerUnreachableError,
    NoRespondersError,
)
from toolmesh_broker.jetstream import subscriptions
from toolmesh_broker.jetstream.api import api_request
from toolmesh_broker.jetstream.broker import JetStreamBroker, connect
from toolmesh_broker.jetstream.connection import open_connection
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.jetstream.provision import provision
from toolmesh_broker.jetstream.pull_loop import pulling
from toolmesh_broker.jetstream.pull_timing import PullTiming
from toolmesh_broker.ports import Deleted, Delivery, Entry, InitialDone, Message
from toolmesh_broker.results import StoredResults
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_contracts.envelopes.reply import Outcome, Result
from toolmesh_contracts.headers import MESSAGE_ID
from toolmesh_contracts.names import Lane

FAST = PullTiming(expires_s=1, heartbeat_s=0.5, refused_pause_s=0.1, tick_s=0.1)


@pytest.mark.requirement("call:broker-restart")
async def test_calls_and_watches_go_on_after_a_killed_broker_comes_back(tmp_path: Path) -> None:
    """Kill -9 with calls queued, running and unsettled: after the restart every call is delivered and settled."""
    async with (
        nats_server(tmp_path) as server,
        provisioned_jetstream(server) as broker,
        connect(jetstream_settings(server, "w")) as worker,
        broker.keyvalue(broker.subjects.result_bucket()).watch() as watch,
        worker.consume(POOL, lambda: 3) as intake,
        asyncio.timeout(40),
    ):
        assert await anext(watch) == InitialDone()
        calls = [outgoing(user=f"user{number}") for number in range(10)]
        for call in calls:
            await broker.publish_invocation(call)
        running = [await anext(intake) for _ in range(3)]
        await server.kill()
        await eventually(lambda: not worker.connected)
        with pytest.raises(BrokerUnreachableError):
            await worker.publish("tm.contract.test", b"")
        with pytest.raises(BrokerUnreachableError):
            await worker.request("tm.contract.test", b"", 0.2)
        await server.start()

        settled = set()

        async def settle(delivery: Delivery) -> None:
            await delivery.ack()  # repeated until the reconnect
            settled.add(delivery.headers[MESSAGE_ID])

        # What a killed server has not yet noted as delivered it never acknowledges, but delivers again.
        settling = [asyncio.create_task(settle(delivery)) for delivery in running]
        while len(settled) < len(calls):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    settling.append(asyncio.create_task(settle(await anext(intake))))
        for task in settling:
            task.cancel()
        await asyncio.wait(settling)
        assert settled == {call.invocation for call in calls}

        result = Result(invocation="c-1", attempt=1, tool="t", outcome=Outcome.OK)
        await StoredResults(worker).store(POOL, result, deadline_ms=deadline_in(60))
        change = await anext(watch)
        assert isinstance(change, Entry)
        assert change.key == f"{POOL}.c-1"


async def test_a_publish_during_an_outage_is_queued_once_when_it_ends(tmp_path: Path) -> None:
    """Publishing goes on until the deadline with the same id: one call, no duplicate, no loss."""
    async with nats_server(tmp_path) as server, provisioned_jetstream(server) as broker, asyncio.timeout(30):
        await server.kill()
        call = outgoing()
        publishing = asyncio.create_task(broker.publish_invocation(call))
        await eventually(lambda: not broker.connected)
        assert not publishing.done()
        await server.start()
        receipt = await publishing
        again = await broker.publish_invocation(call)
        assert (again.sequence, again.duplicate) == (receipt.sequence, True)


async def test_a_watch_notices_what_happened_while_it_was_away(tmp_path: Path) -> None:
    """Keys written and deleted by others during a reconnect are told afterwards, unchanged ones are not repeated."""
    async with (
        nats_server(tmp_path) as server,
        provisioned_jetstream(server) as broker,
        connect(jetstream_settings(server, "w")) as reader,
        asyncio.timeout(30),
    ):
        bucket = broker.keyvalue(broker.subjects.catalog_bucket())
        for key in ("p.stays.w", "p.goes.w", "p.changes.w"):
            await bucket.put(key, b"1", 600)
        async with reader.keyvalue(broker.subjects.catalog_bucket()).watch() as watch:
            while not isinstance(await anext(watch), InitialDone):
                pass
            await reader._connection._client.force_reconnect()
            await bucket.delete("p.goes.w")
            revision = await bucket.put("p.changes.w", b"2", 600)
            changes = [await anext(watch), await anext(watch)]
            assert Entry("p.changes.w", b"2", revision) in changes
            assert Deleted("p.goes.w") in changes
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await anext(watch)


async def test_heartbeats_come_back_after_a_restart(tmp_path: Path) -> None:
    """The bucket in memory is provisioned again, its watch tells what is gone and what is new."""
    async with nats_server(tmp_path) as server, provisioned_jetstream(server) as broker, asyncio.timeout(40):
        bucket = broker.keyvalue(broker.subjects.heartbeat_bucket())
        await bucket.put("p.old", b"1", 60)
        async with bucket.watch() as watch:
            assert isinstance(await anext(watch), Entry)
            assert await anext(watch) == InitialDone()
            await server.kill()
            await server.start()
            revision = await bucket.put("p.new", b"2", 60)
            changes = [await anext(watch), await anext(watch)]
            assert Deleted("p.old") in changes
            assert Entry("p.new", b"2", revision) in changes


async def test_subscriptions_answer_again_after_a_restart(tmp_path: Path) -> None:
    """Listeners need not notice a restart: their subjects are subscribed to again."""
    async with (
        nats_server(tmp_path) as server,
        connect(jetstream_settings(server, "a")) as asking,
        connect(jetstream_settings(server, "b")) as answering,
        asyncio.timeout(30),
    ):

        async def echo(message: Message) -> None:
            await message.respond(message.body)

        async with answering.subscribe("tm.contract.x", echo):
            await server.kill()
            await server.start()
            await eventually(lambda: asking.connected and answering.connected)

            async def answered() -> bool:
                try:
                    return (await asking.request("tm.contract.x", b"hello", 5)).body == b"hello"
                except (NoRespondersError, BrokerUnreachableError):
                    return False

            await eventually(answered)


async def test_a_malformed_subject_is_refused_and_not_tried_again(tmp_path: Path) -> None:
    """A space in a key is the caller's mistake: told at once, and the connection goes on."""
    async with nats_server(tmp_path) as server, provisioned_jetstream(server) as broker, asyncio.timeout(5):
        with pytest.raises(BrokerRefusedError, match="malformed"):
            await broker.keyvalue(broker.subjects.ledger_bucket()).put("p.a b", b"", 60)
        await broker.request("$JS.API.INFO", b"", 5)


async def test_a_worker_that_stops_beside_a_dead_server_gets_away(tmp_path: Path) -> None:
    """Leaving consume() while the server hangs ends, and the connection works when the server is back."""
    async with (
        nats_server(tmp_path) as server,
        provisioned_jetstream(server),
        connect(jetstream_settings(server, "w", ping_interval_s=1)) as worker,
        asyncio.timeout(50),
    ):
        async with worker.consume(POOL, lambda: 1) as intake:
            await eventually(lambda: intake.outstanding == 24)
            await server.pause()
        server.resume()
        await eventually(lambda: worker.connected)
        await worker.request("$JS.API.INFO", b"", 10)


async def test_a_half_open_connection_is_noticed_by_pings(tmp_path: Path) -> None:
    """The server hangs without closing: requests fail typed, the loss is noticed, and all works when it runs again."""
    async with (
        nats_server(tmp_path) as server,
        provisioned_jetstream(server),
        connect(jetstream_settings(server, "w", ping_interval_s=0.3)) as worker,
        asyncio.timeout(40),
    ):
        await server.pause()
        with pytest.raises((BrokerTimeoutError, BrokerUnreachableError)):
            await worker.request("$JS.API.INFO", b"", 0.2)
        waiting = asyncio.create_task(worker.request("$JS.API.INFO", b"", 30))
        with pytest.raises(BrokerUnreachableError):
            await waiting
        await eventually(lambda: not worker.connected)
        server.resume()
        await worker.request("$JS.API.INFO", b"", 10)


async def test_closing_does_not_wait_for_a_dead_peer(tmp_path: Path) -> None:
    """With a full write buffer and a server that takes nothing, leaving is still a matter of seconds."""
    async with nats_server(tmp_path) as server, asyncio.timeout(40):
        async with connect(jetstream_settings(server, "w")) as worker:
            await server.pause()
            flood = [asyncio.create_task(worker.publish("tm.contract.x", b"z" * 500_000)) for _ in range(40)]
            await asyncio.sleep(0)
            started = time.monotonic()
        assert time.monotonic() - started < 10
        outcomes = await asyncio.gather(*flood, return_exceptions=True)
        assert all(
            outcome is None or isinstance(outcome, (BrokerError, asyncio.CancelledError)) for outcome in outcomes
        )
        server.resume()


async def test_closing_leaves_no_task_of_a_cancelled_waiter_behind(tmp_path: Path) -> None:
    """Whoever ends a subscription beside a dead server is cancelled: what still runs for him ends with the connection."""
    before = asyncio.all_tasks()
    async with nats_server(tmp_path) as server, asyncio.timeout(40):
        async with open_connection(jetstream_settings(server, "w")) as connection:

            async def ignore(_message: object) -> None: ...

            subscribed = await connection.subscribe_raw("tm.contract.x", ignore)
            await server.pause()
            draining = asyncio.create_task(connection.drain(subscribed))
            while not connection._unfinished:
                await asyncio.sleep(0)
            draining.cancel()
            await asyncio.wait({draining})
        assert asyncio.all_tasks() == before
        server.resume()


async def test_an_outage_is_told_in_one_line_and_its_end_in_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No traceback and no line per attempt, however often it tries."""
    caplog.set_level(logging.INFO)
    async with (
        nats_server(tmp_path) as server,
        connect(jetstream_settings(server, "w")) as worker,
        asyncio.timeout(30),
    ):
        told: list[str] = []
        forget = worker.on_reconnect(lambda: told.append("again"))
        caplog.clear()
        await server.kill()
        await asyncio.sleep(1.5)  # several attempts fail in this time
        await server.start()
        await eventually(lambda: worker.connected and told)
        forget()
        forget()
    lines = [(record.levelname, record.message) for record in caplog.records if record.name != "asyncio"]
    assert lines == [("WARNING", "broker connection lost, reconnecting"), ("INFO", "broker reconnected")]
    assert told == ["again"]


async def test_a_connection_closed_for_good_is_told() -> None:
    """After a fatal error of the server everything that waits, and `lost()`, raise a typed error instead of hanging."""
    async with fake_nats() as fake, asyncio.timeout(20):
        settings = ConnectionSettings(servers=(fake.url,), namespace=NAMESPACE, identity="w")
        async with connect(settings) as worker:
            lost = asyncio.create_task(worker.lost())
            async with worker.consume(POOL, lambda: 1) as intake:
                waiting = asyncio.create_task(anext(intake))
                await asyncio.sleep(0)
                fake.say(b"-ERR 'User Authentication Expired'")
                for task in (lost, waiting):
                    with pytest.raises(BrokerClosedError, match="closed for good"):
                        await task
                with pytest.raises(BrokerUnreachableError):
                    await worker.request("$JS.API.INFO", b"", 30)
                with pytest.raises(BrokerUnreachableError):
                    await worker.publish("x", b"")


async def test_credentials_refused_after_a_restart_are_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It tries on, since an operator may give the user back; the log says why it is not connected."""
    users = "authorization { users: [ { user: u, password: p } ] }"
    async with (
        nats_server(tmp_path, users) as server,
        connect(jetstream_settings(server, "w", user="u", password="p")) as worker,
        asyncio.timeout(40),
    ):
        await server.kill()
        server.extra = users.replace("user: u", "user: other")
        await server.start()
        await eventually(lambda: any("does not take" in record.message for record in caplog.records))
        await asyncio.sleep(1)  # more attempts
        await server.kill()
        server.extra = users
        await server.start()
        await eventually(lambda: worker.connected)
        await worker.request("$JS.API.INFO", b"", 5)
    assert len([record for record in caplog.records if record.levelno >= logging.ERROR]) == 1


async def test_cancelled_waiters_leave_the_connection_whole(tmp_path: Path) -> None:
    """Hundreds of requests and large publishes cancelled at any point: the next one works, nothing is left behind."""
    async with (
        nats_server(tmp_path) as server,
        provisioned_jetstream(server) as broker,
        asyncio.timeout(40),
    ):
        bucket = broker.keyvalue(broker.subjects.ledger_bucket())
        payloads = broker.payloads(POOL)
        for round_number in range(30):
            tasks: list[asyncio.Task[object]] = [
                asyncio.create_task(broker.request("$JS.API.INFO", b"", 5)) for _ in range(10)
            ]
            tasks += [asyncio.create_task(bucket.put(f"p.{n}", b"x" * 10_000, 60)) for n in range(5)]
            tasks += [asyncio.create_task(payloads.put("big", b"x" * 1_000_000, 60))]
            for _ in range(round_number):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert broker.connected
        await broker.request("$JS.API.INFO", b"", 5)
        ref = await payloads.put("big", b"y" * 1_000_000, 60)
        assert b"".join([chunk async for chunk in payloads.open(ref)]) == b"y" * 1_000_000
        assert broker._connection._requests.waiting == 0


async def test_a_slow_handler_drops_messages_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What overruns a handler is dropped and said once; later messages arrive."""
    monkeypatch.setattr(subscriptions, "_WAITING_MESSAGES", 50)
    async with nats_server(tmp_path) as server, connect(jetstream_settings(server, "w")) as worker, asyncio.timeout(20):
        go_on = asyncio.Event()
        got: list[bytes] = []

        async def slow(message: Message) -> None:
            await go_on.wait()
            got.append(message.body)

        async with worker.subscribe("tm.contract.x", slow, concurrency=1):
            for number in range(500):
                await worker.publish("tm.contract.x", str(number).encode())
            await worker.request("$JS.API.INFO", b"", 5)
            go_on.set()
            await eventually(lambda: len(got) >= 50)
            await worker.publish("tm.contract.x", b"last")
            await eventually(lambda: b"last" in got)
        assert len(got) < 200
    assert [record.message for record in caplog.records if "too slow" in record.message] == [
        "messages dropped, handler is too slow"
    ]


# -- the pull loop


@contextlib.asynccontextmanager
async def _provisioned(
    folder: Path, ack_wait_s: float = ACK_WAIT_S
) -> AsyncIterator[tuple[JetStreamBroker, LayoutSettings]]:
    layout = LayoutSettings(ack_wait_s=ack_wait_s)
    async with nats_server(folder) as server, provisioned_jetstream(server, layout) as broker, asyncio.timeout(40):
        yield broker, layout


@pytest.mark.requirement("broker:every-lane")
async def test_an_idle_worker_keeps_one_pull_on_each_of_24_consumers(tmp_path: Path) -> None:
    """Seen from the server: one waiting pull per lane and shard, none after the worker left."""
    async with _provisioned(tmp_path) as (broker, _layout):
        stream = broker.subjects.invoke_stream(POOL)

        async def waiting() -> list[int]:
            names = [broker.subjects.invoke_consumer(lane, shard) for lane in Lane for shard in range(8)]
            infos = [await api_request(broker._connection, f"CONSUMER.INFO.{stream}.{name}") for name in names]
            return [info["num_waiting"] for info in infos]

        async def all_pulled() -> bool:
            return await waiting() == [1] * 24

        async def none_pulled() -> bool:
            return await waiting() == [0] * 24

        async with broker.consume(POOL, lambda: 1) as intake:
            await eventually(all_pulled)
            assert intake.outstanding == 24
        await eventually(none_pulled)


async def test_pulls_are_renewed_after_they_expired(tmp_path: Path) -> None:
    """An idle worker still gets a call that comes after several expiries."""
    async with _provisioned(tmp_path) as (broker, _layout):
        consumer = broker.subjects.invoke_consumer(Lane.NORMAL, 0)
        stream = broker.subjects.invoke_stream(POOL)
        async with pulling(broker._connection, stream, [consumer], lambda: 1, FAST) as intake:
            await asyncio.sleep(2.5)  # two expiries
            call = next(
                call
                for call in (outgoing(user=f"u{number}") for number in range(1000))
                if broker.subjects.parse_invoke(call.subject).shard == 0
            )
            await broker.publish_invocation(call)
            async with asyncio.timeout(2):
                delivery = await anext(intake)
            await delivery.ack()


async def test_pulls_come_back_when_a_deleted_consumer_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Refused pulls are told once and tried on, not given up and not hammered."""
    async with _provisioned(tmp_path) as (broker, layout):
        connection = broker._connection
        stream = broker.subjects.invoke_stream(POOL)
        call = outgoing()
        place = broker.subjects.parse_invoke(call.subject)
        consumer = broker.subjects.invoke_consumer(place.lane, place.shard)
        async with pulling(connection, stream, [consumer], lambda: 1, FAST) as intake:
            await eventually(lambda: intake.outstanding == 1)
            await api_request(connection, f"CONSUMER.DELETE.{stream}.{consumer}")
            await asyncio.sleep(1)  # several refused pulls
            await provision(connection, [POOL], layout)
            await broker.publish_invocation(call)
            await (await anext(intake)).ack()
    refusals = [record for record in caplog.records if "pull refused" in record.message]
    assert 1 <= len(refusals) <= 2


async def test_a_silent_server_loses_its_pulls(tmp_path: Path) -> None:
    """Two missed heartbeats end a pull, so that it is asked for again."""
    async with nats_server(tmp_path) as server, provisioned_jetstream(server) as broker, asyncio.timeout(30):
        stream = broker.subjects.invoke_stream(POOL)
        consumer = broker.subjects.invoke_consumer(Lane.NORMAL, 0)
        timing = PullTiming(expires_s=60, heartbeat_s=0.3, tick_s=0.1)
        async with pulling(broker._connection, stream, [consumer], lambda: 1, timing) as intake:
            await eventually(lambda: intake.outstanding == 1)
            pull = intake._pulls[0]
            first = pull.number
            await server.pause()
            await eventually(lambda: pull.number > first)
            server.resume()


async def test_surplus_deliveries_are_handed_back_at_once(tmp_path: Path) -> None:
    """One slot, 24 open pulls, calls on many shards: all but one return to the queue and are deliverable right away."""
    async with _provisioned(tmp_path, ack_wait_s=60) as (broker, _layout):
        taken = 0
        async with broker.consume(POOL, lambda: 1 - taken) as intake:
            await eventually(lambda: intake.outstanding == 24)
            await asyncio.gather(*(broker.publish_invocation(outgoing(user=f"u{n}")) for n in range(20)))
            await anext(intake)
            taken = 1
            async with broker.consume(POOL, lambda: 20) as other:
                for _ in range(19):
                    await (await anext(other)).ack()


async def test_reading_a_payload_goes_on_after_a_restart(tmp_path: Path) -> None:
    """The broker is killed in the middle of a download: the reader asks again and ends with the right bytes."""
    content = os.urandom(8 * 1024 * 1024)
    async with nats_server(tmp_path) as server, provisioned_jetstream(server) as broker, asyncio.timeout(40):
        store = broker.payloads(POOL)
        ref = await store.put("big", content, 600)
        received = bytearray()
        killed = False
        async for chunk in store.open(ref):
            received += chunk
            if not killed and len(received) > 2 * 1024 * 1024:
                killed = True
                await server.kill()
                await server.start()
        assert received == content


async def test_a_missing_stream_is_told_after_the_time_is_over(tmp_path: Path) -> None:
    """Publishing into nothing is no success and no endless wait."""
    async with nats_server(tmp_path) as server, connect(jetstream_settings(server, "w")) as worker:
        with pytest.raises(NoRespondersError):
            await worker.append("NONE", "nowhere.at.all", b"", message_id="x", timeout_s=0.3)
