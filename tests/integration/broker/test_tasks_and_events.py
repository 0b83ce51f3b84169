"""Tasks and their events between executors, each with its own key on a server that denies everything else."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.embedded_broker import POOLS, embedded_broker

from toolmesh_broker.errors import BrokerPermissionError, RevisionConflictError
from toolmesh_broker.identities import Executor, Provisioner, Worker
from toolmesh_broker.jetstream.broker import JetStreamBroker, connect
from toolmesh_contracts.ids import new_uuid7

AGENT = "weather.agent"


@dataclass(frozen=True)
class Pair:
    """Two executors and a worker of one server."""

    one: JetStreamBroker
    two: JetStreamBroker
    worker: JetStreamBroker


@contextlib.asynccontextmanager
async def executors(folder: Path) -> AsyncIterator[Pair]:
    async with (
        embedded_broker(folder) as server,
        connect(server.connection(Provisioner())) as provisioner,
        provisioner.provisioned(POOLS),
        connect(server.connection(Executor("one"))) as one,
        connect(server.connection(Executor("two"))) as two,
        connect(server.connection(Worker("alpha", "w1"))) as worker,
        asyncio.timeout(40),
    ):
        yield Pair(one, two, worker)


async def test_events_are_read_in_order_from_any_number(tmp_path: Path) -> None:
    """More than a batch of events of one task among another's: all are read, once, in order, from any place."""
    async with executors(tmp_path / "b") as pair:
        log, task, sequences = pair.one.events(), new_uuid7(), [0]
        for number in range(1, 621):
            sequences.append(await log.append(task, b"%d" % number, message_id=f"m{number}", after=sequences[-1]))
            if number % 100 == 0:
                await log.append(new_uuid7(), b"other", message_id=f"o{number}", after=0)
        read = await pair.two.events().read(task)
        assert [event.body for event in read] == [b"%d" % number for number in range(1, 621)]
        assert [event.sequence for event in read] == sequences[1:]
        assert [event.body for event in await log.read(task, sequences[618])] == [b"619", b"620"]
        last = await log.last(task)
        assert (last.sequence, last.body) == (sequences[-1], b"620")
        assert (await log.last(new_uuid7())).sequence == 0
        assert await log.read(new_uuid7()) == ()


async def test_only_one_writer_goes_on(tmp_path: Path) -> None:
    """Two executors that both think that a task is theirs: the second append on the same event is refused."""
    async with executors(tmp_path / "b") as pair:
        task = new_uuid7()
        first = await pair.one.events().append(task, b"a", message_id="a", after=0)
        await pair.two.events().append(task, b"b", message_id="b", after=first)
        with pytest.raises(RevisionConflictError):
            await pair.one.events().append(task, b"c", message_id="c", after=first)
        with pytest.raises(RevisionConflictError):
            await pair.one.events().append(task, b"d", message_id="d", after=0)


async def test_an_append_whose_answer_was_lost_can_be_repeated(tmp_path: Path) -> None:
    """The same event of the same writer again is the one that is stored, unless another one follows it."""
    async with executors(tmp_path / "b") as pair:
        log, task = pair.one.events(), new_uuid7()
        first = await log.append(task, b"a", message_id="a", after=0)
        assert await log.append(task, b"a", message_id="a", after=0) == first
        assert [event.body for event in await log.read(task)] == [b"a"]
        await pair.two.events().append(task, b"b", message_id="b", after=first)
        with pytest.raises(RevisionConflictError):
            await log.append(task, b"a", message_id="a", after=0)


async def test_a_reader_follows_what_is_stored_and_nothing_else(tmp_path: Path) -> None:
    """A reader gets the events there are, then each new one at once; one that was refused it never sees."""
    async with executors(tmp_path / "b") as pair:
        log, task = pair.one.events(), new_uuid7()
        at = await log.append(task, b"1", message_id="1", after=0)
        reader = pair.two.events().follow(task)
        assert (await anext(reader)).body == b"1"
        with pytest.raises(RevisionConflictError):
            await log.append(task, b"never", message_id="n", after=0)
        waiting = asyncio.ensure_future(anext(reader))
        await asyncio.sleep(0.1)
        started = time.monotonic()
        at = await log.append(task, b"2", message_id="2", after=at)
        assert (await waiting).body == b"2"
        assert time.monotonic() - started < 0.8, "announced, not found by the next look"
        await log.append(task, b"3", message_id="3", after=at)
        assert (await anext(reader)).body == b"3"
        await reader.aclose()


async def test_a_task_reaches_one_executor_and_another_if_that_one_goes_silent(tmp_path: Path) -> None:
    """Published once for good, taken by one; handed back, it comes to the other; acknowledged, it is gone."""
    async with executors(tmp_path / "b") as pair:
        queue = pair.one.tasks()
        await queue.publish(AGENT, b"work", {"Tm-Token": "t"}, message_id="m")
        assert (await queue.publish(AGENT, b"work", {}, message_id="m")).duplicate
        async with pair.one.tasks().consume((AGENT, "other"), lambda: 4) as first:
            delivery = await anext(first)
            assert (delivery.body, delivery.headers["Tm-Token"], delivery.delivered) == (b"work", "t", 1)
            await delivery.in_progress()
            await delivery.nak()
        async with pair.two.tasks().consume((AGENT,), lambda: 4) as second:
            delivery = await anext(second)
            assert delivery.delivered >= 2
            await delivery.ack()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await anext(second)


async def test_a_task_can_be_queued_for_later_and_put_off(tmp_path: Path) -> None:
    """The broker queues it at its time; writing the schedule again replaces the first one."""
    async with executors(tmp_path / "b") as pair:
        queue, now = pair.one.tasks(), time.time()
        soon, later = int((now + 1) * 1000), int((now + 2.5) * 1000)
        await queue.publish_at(soon, "s-1", AGENT, b"first", {"Tm-Token": "t"}, message_id="a")
        await queue.publish_at(later, "s-1", AGENT, b"second", {"Tm-Token": "t"}, message_id="b")
        async with queue.consume((AGENT,), lambda: 1) as intake:
            delivery = await anext(intake)
            assert (delivery.body, delivery.headers["Tm-Token"]) == (b"second", "t")
            assert time.time() >= later / 1000 - 0.1
            await delivery.ack()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.0):
                    await anext(intake)


async def test_the_newest_tasks_are_listed_first(tmp_path: Path) -> None:
    """Ids of tasks with events, by their time."""
    async with executors(tmp_path / "b") as pair:
        ids = []
        for _ in range(3):
            ids.append(new_uuid7())
            await pair.one.events().append(ids[-1], b"x", message_id=ids[-1], after=0)
            await asyncio.sleep(0.002)
        assert await pair.two.events().recent(2) == (ids[2], ids[1])
        assert await pair.two.events().recent(10) == tuple(reversed(ids))


async def test_a_worker_can_neither_read_nor_write_tasks(tmp_path: Path) -> None:
    """Tasks and events are the executors' business; whoever runs a stranger's tool has no part in it."""
    async with executors(tmp_path / "b") as pair:
        with pytest.raises(BrokerPermissionError):
            await pair.worker.events().append(new_uuid7(), b"x", message_id="x", after=0)
        with pytest.raises(BrokerPermissionError):
            await pair.worker.tasks().publish(AGENT, b"x", {}, message_id="x")
        with pytest.raises(BrokerPermissionError):
            await pair.worker.events().last(new_uuid7())
