"""The invocation queue behaves alike on JetStream and in memory."""

import asyncio
import time
from pathlib import Path

import pytest
from tests.support.brokers import ACK_WAIT_S, BROKER_KINDS, POOL, brokers_of_kind, eventually, outgoing

from toolmesh_broker.errors import BrokerTimeoutError, PayloadTooLargeError, QueueFullError
from toolmesh_broker.ports import Delivery
from toolmesh_contracts.headers import MESSAGE_ID, MESSAGE_TTL
from toolmesh_contracts.names import Lane

pytestmark = pytest.mark.parametrize("kind", BROKER_KINDS)


async def test_a_published_call_is_delivered_once_and_gone_after_its_ack(kind: str, tmp_path: Path) -> None:
    """Publish, deliver, acknowledge: body and headers arrive, and nothing comes again."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        receipt = await broker.publish_invocation(outgoing(b'{"a":1}', invocation="call-1"))
        async with broker.consume(POOL, lambda: 4) as intake, asyncio.timeout(10):
            delivery = await anext(intake)
            assert (delivery.body, delivery.sequence, delivery.delivered) == (b'{"a":1}', receipt.sequence, 1)
            assert delivery.headers[MESSAGE_ID] == "call-1"
            assert 1 <= int(delivery.headers[MESSAGE_TTL]) <= 60
            assert delivery.stream == receipt.stream
            await delivery.ack()
            assert await broker.delete_invocation(receipt) is False
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(ACK_WAIT_S * 2):
                    await anext(intake)


async def test_a_second_publish_of_the_same_id_is_dropped_and_says_so(kind: str, tmp_path: Path) -> None:
    """The invocation id deduplicates: one call in the queue, the second receipt marked as a duplicate."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        call = outgoing()
        first = await broker.publish_invocation(call)
        second = await broker.publish_invocation(call)
        assert (first.duplicate, second.duplicate) == (False, True)
        assert second.sequence == first.sequence
        async with broker.consume(POOL, lambda: 4) as intake, asyncio.timeout(10):
            await (await anext(intake)).ack()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await anext(intake)


async def test_an_unsettled_call_comes_again_after_ack_wait(kind: str, tmp_path: Path) -> None:
    """Silence counts as a dead worker: redelivered after ack_wait, not before, with the count up."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        await broker.publish_invocation(outgoing())
        async with broker.consume(POOL, lambda: 4) as intake, asyncio.timeout(15):
            await anext(intake)
            started = time.monotonic()
            again = await anext(intake)
            assert again.delivered == 2
            assert time.monotonic() - started >= ACK_WAIT_S * 0.8
            await again.ack()


async def test_work_in_progress_keeps_a_call_from_coming_again(kind: str, tmp_path: Path) -> None:
    """Renewing three times in a row holds off redelivery for longer than ack_wait."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        await broker.publish_invocation(outgoing())
        async with broker.consume(POOL, lambda: 4) as intake, asyncio.timeout(15):
            delivery = await anext(intake)
            for _ in range(4):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(ACK_WAIT_S / 2):
                        await anext(intake)
                await delivery.in_progress()
            await delivery.ack()


async def test_a_call_handed_back_comes_again_after_the_delay(kind: str, tmp_path: Path) -> None:
    """A negative acknowledgement returns the call at once, or after its delay."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        await broker.publish_invocation(outgoing())
        async with broker.consume(POOL, lambda: 4) as intake, asyncio.timeout(15):
            await (await anext(intake)).nak()
            second = await anext(intake)
            started = time.monotonic()
            await second.nak(0.4)
            third = await anext(intake)
            assert time.monotonic() - started >= 0.35
            assert third.delivered == 3
            await third.ack()


async def test_a_terminated_call_leaves_the_queue(kind: str, tmp_path: Path) -> None:
    """A termination settles for good: the message is no longer in the stream."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        receipt = await broker.publish_invocation(outgoing())
        async with broker.consume(POOL, lambda: 4) as intake, asyncio.timeout(10):
            await (await anext(intake)).term("poison\nmessage")
        assert await broker.delete_invocation(receipt) is False


async def test_a_queued_call_can_be_withdrawn(kind: str, tmp_path: Path) -> None:
    """Deleting by receipt removes it; a second time there is nothing to remove."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        receipt = await broker.publish_invocation(outgoing())
        assert await broker.delete_invocation(receipt) is True
        assert await broker.delete_invocation(receipt) is False
        async with broker.consume(POOL, lambda: 4) as intake:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await anext(intake)


async def test_an_expired_call_vanishes_without_a_worker(kind: str, tmp_path: Path) -> None:
    """The deadline is the message's TTL: its place in a full queue becomes free by itself."""
    async with brokers_of_kind(kind, tmp_path, max_queued_per_tenant=1) as brokers, brokers.connect("w") as broker:
        receipt = await broker.publish_invocation(outgoing(seconds=0.5))

        async def there_is_room() -> bool:
            try:
                await broker.publish_invocation(outgoing())
            except QueueFullError:
                return False
            return True

        assert not await there_is_room()
        await eventually(there_is_room)
        assert await broker.delete_invocation(receipt) is False


async def test_a_call_past_its_deadline_is_not_published(kind: str, tmp_path: Path) -> None:
    """Publishing too late is an error, not a call that lives a second longer."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        with pytest.raises(BrokerTimeoutError):
            await broker.publish_invocation(outgoing(seconds=-1))


async def test_no_more_than_the_credit_is_handed_out(kind: str, tmp_path: Path) -> None:
    """With two slots two calls are out; the others wait and follow as slots free up."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        for number in range(8):
            await broker.publish_invocation(outgoing(user=f"user{number}"))
        slots = 2
        held: list[Delivery] = []
        async with broker.consume(POOL, lambda: slots - len(held)) as intake, asyncio.timeout(20):
            done = 0
            while done < 8:
                held.append(await anext(intake))
                assert len(held) <= slots
                if len(held) == slots:
                    with pytest.raises(TimeoutError):
                        async with asyncio.timeout(0.2):
                            await anext(intake)
                    for delivery in held:
                        await delivery.ack()
                    done += len(held)
                    held.clear()
                    intake.wake()


async def test_surplus_goes_to_another_worker_at_once(kind: str, tmp_path: Path) -> None:
    """A worker without free slots does not sit on calls: another one gets them well before ack_wait."""
    async with (
        brokers_of_kind(kind, tmp_path, ack_wait_s=60) as brokers,
        brokers.connect("full") as full,
        brokers.connect("idle") as idle,
    ):
        taken = 0
        async with full.consume(POOL, lambda: 1 - taken) as first, asyncio.timeout(15):
            for number in range(6):
                await full.publish_invocation(outgoing(user=f"user{number}"))
            delivery = await anext(first)
            taken = 1
            await delivery.in_progress()
            async with idle.consume(POOL, lambda: 8) as second:
                for _ in range(5):
                    other = await anext(second)
                    assert other.sequence != delivery.sequence
                    await other.ack()
            await delivery.ack()


async def test_leaving_hands_back_what_was_not_taken_out(kind: str, tmp_path: Path) -> None:
    """Prefetched calls return to the queue when a worker stops, without waiting for ack_wait."""
    async with brokers_of_kind(kind, tmp_path, ack_wait_s=60) as brokers, brokers.connect("w") as broker:
        for number in range(4):
            await broker.publish_invocation(outgoing(user=f"user{number}"))
        async with broker.consume(POOL, lambda: 4) as intake, asyncio.timeout(10):
            await (await anext(intake)).ack()
        async with broker.consume(POOL, lambda: 4) as intake, asyncio.timeout(10):
            for _ in range(3):
                await (await anext(intake)).ack()


async def test_a_paused_intake_takes_nothing_more(kind: str, tmp_path: Path) -> None:
    """Draining: after pause() new calls stay in the queue for others."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("w") as broker,
        broker.consume(POOL, lambda: 4) as draining,
        asyncio.timeout(10),
    ):
        draining.pause()
        await broker.publish_invocation(outgoing())
        async with broker.consume(POOL, lambda: 4) as other:
            await (await anext(other)).ack()


async def test_every_lane_and_shard_is_pulled(kind: str, tmp_path: Path) -> None:
    """Calls of many tenants in all three lanes arrive: all 24 consumers are served."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        sent = set()
        for number in range(40):
            for lane in Lane:
                call = outgoing(user=f"user{number}", lane=lane)
                sent.add(call.subject)
                await broker.publish_invocation(call)
        assert len({tuple(subject.split(".")[4:6]) for subject in sent}) == 24
        received = set()
        async with broker.consume(POOL, lambda: 16) as intake, asyncio.timeout(20):
            for _ in range(120):
                delivery = await anext(intake)
                received.add(delivery.subject)
                await delivery.ack()
        assert received == sent


@pytest.mark.requirement("broker:queue-limit")
async def test_a_full_tenant_is_refused_and_others_are_not(kind: str, tmp_path: Path) -> None:
    """The cap is per tenant: RESOURCE_EXHAUSTED for one, room for the next."""
    async with brokers_of_kind(kind, tmp_path, max_queued_per_tenant=2) as brokers, brokers.connect("w") as broker:
        for _ in range(2):
            await broker.publish_invocation(outgoing(user="noisy"))
        with pytest.raises(QueueFullError) as caught:
            await broker.publish_invocation(outgoing(user="noisy"))
        assert caught.value.code == "RESOURCE_EXHAUSTED"
        await broker.publish_invocation(outgoing(user="quiet"))


async def test_a_message_over_the_limit_is_refused_locally(kind: str, tmp_path: Path) -> None:
    """Too large a body is a typed error and leaves the connection usable."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        with pytest.raises(PayloadTooLargeError) as caught:
            await broker.publish_invocation(outgoing(b"x" * (broker.max_payload + 1)))
        assert caught.value.limit == broker.max_payload
        await broker.publish_invocation(outgoing())


@pytest.mark.requirement("call:shared")
async def test_two_workers_share_many_calls_without_loss(kind: str, tmp_path: Path) -> None:
    """200 calls over two workers: each call is run exactly once, and both take part."""
    async with brokers_of_kind(kind, tmp_path) as brokers:
        ran: dict[str, list[str]] = {"a": [], "b": []}

        async def work(name: str) -> None:
            async with brokers.connect(name) as broker, broker.consume(POOL, lambda: 4) as intake:
                async for delivery in intake:
                    ran[name].append(delivery.headers[MESSAGE_ID])
                    await delivery.ack()

        async with brokers.connect("client") as client, asyncio.timeout(30):
            workers = [asyncio.create_task(work(name)) for name in ran]
            calls = [outgoing(user=f"user{number % 10}") for number in range(200)]
            await asyncio.gather(*(client.publish_invocation(call) for call in calls))
            await eventually(lambda: len(ran["a"]) + len(ran["b"]) >= 200, 20)
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        assert sorted(ran["a"] + ran["b"]) == sorted(call.invocation for call in calls)
        assert min(len(ran["a"]), len(ran["b"])) > 0
