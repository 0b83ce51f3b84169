"""An executor is killed, stopped or frozen at any step of a task; another one goes on, and nothing happens twice."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.support.scripted_worker import Job
from tests.support.task_mesh import TaskMesh, calls, says, task_mesh
from tests.support.tool_client import until

from toolmesh_contracts.envelopes.reply import Result
from toolmesh_contracts.envelopes.task import Answer
from toolmesh_executor.loop.records import Record, TaskCompleted, TaskResumed, ToolEnded, TurnRestarted
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_scripted_model import Question, Turn

pytestmark = pytest.mark.timeout(120)


class Stage:
    """A model and a tool that stop where the test wants."""

    def __init__(self) -> None:
        self.tool_runs = 0
        self.tool_goes_on = asyncio.Event()
        self.stalls: set[str] = set()

    def model(self, asked: Question) -> Turn:
        turn = "second" if asked.results else "first"
        if turn in self.stalls:
            self.stalls.discard(turn)
            return Turn(stall=True)
        if asked.results:
            return says(f"the tool says {asked.results[-1]}")
        return calls(("work", "{}"))

    async def work(self, job: Job) -> Result:
        self.tool_runs += 1
        await self.tool_goes_on.wait()
        return job.ok("done")


def agent(**hil: Any) -> dict[str, Any]:
    entry = {"tool_type": "builtin", "tool_name": "work", **({"hil": hil} if hil else {})}
    return {"tools": [entry]}


def kinds(records: list[Record]) -> list[str]:
    return [str(record.__struct_config__.tag) for record in records]


async def ends_well(mesh: TaskMesh, task: str, stage: Stage) -> TaskState:
    """The task ends with the tool's one run told, one end, and no gap in its numbers."""
    stage.tool_goes_on.set()
    state = await mesh.followed(task)
    assert state.ended == TaskCompleted(text="the tool says done"), state.ended
    assert stage.tool_runs == 1
    records = mesh.records(task)
    assert len([record for record in records if isinstance(record, ToolEnded)]) == 1
    assert kinds(records).count("task.completed") == 1
    return state


@pytest.mark.requirement("task:killed")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
@pytest.mark.parametrize("step", ["first turn", "tool", "second turn"])
async def test_another_executor_goes_on(tmp_path: Path, step: str, how: signal.Signals) -> None:
    """In a turn: the turn is asked again and readers are told. In a call: it runs on, and its result is taken."""
    stage = Stage()
    stage.stalls = {"first"} if step == "first turn" else {"second"} if step == "second turn" else set()
    if step != "tool":
        stage.tool_goes_on.set()
    async with task_mesh(tmp_path, {"work": stage.work}, stage.model) as mesh:
        async with mesh.executor_process({"helper": agent()}, "executor-1") as first:
            await mesh.until_known({"helper": 0})
            task = await mesh.ask("helper", "please")
            if step == "tool":
                await until(lambda: stage.tool_runs == 1)
            else:
                await until(lambda: len(mesh.model.asked) == (1 if step == "first turn" else 2))
            first.send_signal(how)
            await first.wait()
        async with mesh.executor({"helper": agent()}, "executor-2"):
            await ends_well(mesh, task, stage)
    records = mesh.records(task)
    assert [record.executor for record in records if isinstance(record, TaskResumed)] == ["executor-2"]
    assert any(isinstance(record, TurnRestarted) for record in records) == (step != "tool")


@pytest.mark.requirement("task:killed")
async def test_a_frozen_executor_that_wakes_up_again_changes_nothing(tmp_path: Path) -> None:
    """While it was silent another one has taken the task: what it still wants to write is refused, and it stops."""
    stage = Stage()
    async with task_mesh(tmp_path, {"work": stage.work}, stage.model) as mesh:
        async with mesh.executor_process({"helper": agent()}, "executor-1") as first:
            await mesh.until_known({"helper": 0})
            task = await mesh.ask("helper", "please")
            await until(lambda: stage.tool_runs == 1)
            first.send_signal(signal.SIGSTOP)
            async with mesh.executor({"helper": agent()}, "executor-2"):
                state = await mesh.followed(task, until="task.resumed")
                first.send_signal(signal.SIGCONT)
                await asyncio.sleep(1)
                assert state.ended is None
                await ends_well(mesh, task, stage)
            assert first.returncode is None, "it lives, and runs other tasks"


async def test_a_task_waits_through_the_end_of_its_executor(tmp_path: Path) -> None:
    """Killed while a question is open: the answer sets it going on another executor, once."""
    stage = Stage()
    async with task_mesh(tmp_path, {"work": stage.work}, stage.model) as mesh:
        async with mesh.executor_process({"helper": agent(require_approval=True)}, "executor-1") as first:
            await mesh.until_known({"helper": 0})
            task = await mesh.ask("helper", "please")
            await mesh.followed(task, until="question.asked")
            first.kill()
            await first.wait()
        await mesh.tasks.answer(task, Answer(call="1.1", approved=True), mesh.token())
        async with mesh.executor({"helper": agent(require_approval=True)}, "executor-2"):
            await ends_well(mesh, task, stage)


async def test_a_parent_is_woken_though_both_executors_were_killed(tmp_path: Path) -> None:
    """Parent and child are gone on with, and the child is asked once."""
    stage = Stage()

    def model(asked: Question) -> Turn:
        if asked.user == "parent":
            return says(f"peer: {asked.results[-1]}") if asked.results else calls(("peer_child", '{"text": "go"}'))
        return stage.model(asked)

    agents: dict[str, Any] = {"parent": {}, "child": agent()}
    async with task_mesh(tmp_path, {"work": stage.work}, model) as mesh:
        async with mesh.executor_process(agents, "executor-1") as first:
            await mesh.until_known(agents)
            task = await mesh.ask("parent", "parent")
            await until(lambda: stage.tool_runs == 1)
            first.kill()
            await first.wait()
        stage.tool_goes_on.set()
        async with mesh.executor(agents, "executor-2"):
            state = await mesh.followed(task)
    assert state.ended == TaskCompleted(text="peer: the tool says done")
    assert stage.tool_runs == 1
