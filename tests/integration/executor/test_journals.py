"""Two writers of one task's records: who may go on, and what each sees of the other."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.support.brokers import jetstream_settings, provisioned_jetstream
from tests.support.nats_server import nats_server
from tests.support.task_mesh import task_mesh

from toolmesh_broker.jetstream.api import api_request
from toolmesh_broker.jetstream.connection import open_connection
from toolmesh_contracts.envelopes.task import Task, TaskEvent
from toolmesh_contracts.ids import new_uuid7
from toolmesh_contracts.wire import encode
from toolmesh_executor.loop.records import (
    QuestionAnswered,
    QuestionKind,
    TaskCancelled,
    TaskFailed,
    TaskResumed,
    TaskStarted,
    ToolStatus,
)
from toolmesh_executor.tasks.errors import JournalLostError
from toolmesh_executor.tasks.journal import opened_journal
from toolmesh_executor.tasks.sending import TaskSender

STARTED = TaskStarted(agent="a", user="u", text="why?", message=1)
ANSWERED = QuestionAnswered(call="1.1", asks_for=QuestionKind.INPUT, by="u", text="so")


async def test_an_answer_of_another_is_taken_in_and_the_owner_goes_on(tmp_path: Path) -> None:
    """The owner's next record comes behind it, with the next number."""
    async with nats_server(tmp_path) as server, provisioned_jetstream(server) as broker:
        log, task = broker.events(), new_uuid7()
        async with (
            opened_journal(log, task, "one", owns=True) as owner,
            opened_journal(log, task, "client") as other,
        ):
            await owner.append(STARTED)
            assert not await other.append_here(ANSWERED), "it did not know of the start"
            assert await other.append_here(ANSWERED)
            await owner.append(ToolStatus(call="1.1", text="x"))
            assert owner.state.answers["1.1"] == ANSWERED
            assert (owner.number, owner.holds, other.holds) == (3, True, False)


async def test_whoever_takes_a_task_over_locks_the_former_one_out(tmp_path: Path) -> None:
    """Also when the former one only looks, and though it may still answer for what others write."""
    async with nats_server(tmp_path) as server, provisioned_jetstream(server) as broker:
        log, task = broker.events(), new_uuid7()
        async with opened_journal(log, task, "one", owns=True) as former:
            await former.append(STARTED)
            async with opened_journal(log, task, "two", owns=True) as successor:
                await successor.append(TaskResumed(executor="two", message=2))
                with pytest.raises(JournalLostError):
                    await former.append(ToolStatus(call="1.1", text="late"))
                with pytest.raises(JournalLostError):
                    await former.refresh()
                await successor.append(ToolStatus(call="1.1", text="x"))
            assert former.state.message == 2


async def test_nothing_follows_an_end(tmp_path: Path) -> None:
    """Whoever wrote it, and whoever tries."""
    async with nats_server(tmp_path) as server, provisioned_jetstream(server) as broker:
        log, task = broker.events(), new_uuid7()
        async with opened_journal(log, task, "one", owns=True) as owner:
            await owner.append(STARTED)
            async with opened_journal(log, task, "client") as other:
                await other.append(TaskCancelled(reason="enough"))
                with pytest.raises(JournalLostError):
                    await other.append(ANSWERED)
            with pytest.raises(JournalLostError):
                await owner.append(ToolStatus(call="1.1", text="late"))
            assert owner.state.ended == TaskCancelled(reason="enough")


async def test_a_task_that_ends_its_executors_is_given_up(tmp_path: Path) -> None:
    """Taken over again and again without a step, it fails and lets the others run; with steps in between it may go on."""
    async with task_mesh(tmp_path, {}) as mesh:
        log, task = mesh.broker.events(), new_uuid7()
        async with opened_journal(log, task, "dead", owns=True) as dead:
            await dead.append(TaskStarted(agent="helper", user="ada", text="hi", message=1))
            for _ in range(50):
                await dead.append(TaskResumed(executor="dead", message=1))
        # Nobody has it any more: the first message that is delivered is the one that it names.
        await TaskSender(mesh.broker.tasks()).start(Task(id=task, agent="helper", text="hi"), mesh.token())
        async with mesh.executor({"helper": {}}):
            state = await mesh.followed(task)
    assert isinstance(state.ended, TaskFailed)
    assert "51 times" in state.ended.message


async def test_a_task_with_records_of_a_newer_executor_is_left_to_one(tmp_path: Path) -> None:
    """While executors are replaced, an older one may get it: its message stays in the queue."""
    async with (
        task_mesh(tmp_path, {}) as mesh,
        mesh.executor({"helper": {}}),
        open_connection(jetstream_settings(mesh.server, "provisioner")) as admin,
    ):
        task = new_uuid7()
        event = TaskEvent(task=task, seq=1, at_ms=1, executor="newer", record=msgspec.Raw(b'{"kind": "from.later"}'))
        await mesh.broker.events().append(task, encode(event), message_id=task, after=0)
        await TaskSender(mesh.broker.tasks()).start(Task(id=task, agent="helper", text="why?"), mesh.token())
        stream = admin.subjects.task_stream()
        async with asyncio.timeout(10):
            while (await api_request(admin, f"CONSUMER.INFO.{stream}.helper"))["num_ack_pending"] == 0:
                await asyncio.sleep(0.02)
        for _ in range(20):
            assert (await api_request(admin, f"STREAM.INFO.{stream}"))["state"]["messages"] == 1
            await asyncio.sleep(0.05)
        (listed,) = await mesh.tasks.recent(10)
        assert listed.id == task
        assert "newer version" in listed.problem
