"""Tasks on a real broker: asked, followed, paused, answered, cancelled, given to other agents."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.scripted_worker import Job, echo, until_cancelled
from tests.support.task_mesh import calls, says, task_mesh
from tests.support.tool_client import until

from toolmesh_contracts.envelopes.reply import Outcome, Result
from toolmesh_contracts.envelopes.task import Answer, Task
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.ids import new_uuid7
from toolmesh_executor.loop.records import (
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    TaskResumed,
    ToolEnded,
    ToolStarted,
)
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.tasks.errors import TaskError
from toolmesh_executor.tasks.sending import TaskSender
from toolmesh_scripted_model import Question, Said, Turn

pytestmark = pytest.mark.timeout(90)


def agent(*tools: str, **keys: Any) -> dict[str, Any]:
    return {"tools": [{"tool_type": "builtin", "tool_name": name} for name in tools], **keys}


def approved_agent(tool: str, **hil: Any) -> dict[str, Any]:
    entry = {"tool_type": "builtin", "tool_name": tool, "hil": {"require_approval": True, **hil}}
    return {"tools": [entry]}


async def asks_which(job: Job) -> Result:
    """A tool that needs a person."""
    return job.result(Outcome.PENDING, message="Which Oslo?")


def completed(state: TaskState) -> str:
    assert isinstance(state.ended, TaskCompleted), state.ended
    return state.ended.text


def failed(state: TaskState) -> TaskFailed:
    assert isinstance(state.ended, TaskFailed), state.ended
    return state.ended


@pytest.mark.requirement("task:events")
async def test_a_task_is_answered_and_can_be_read_again(tmp_path: Path) -> None:
    """Its events come in order without a gap, also to who comes later; its call's invocation is written down first."""
    async with task_mesh(tmp_path, {"echo": echo}) as mesh, mesh.executor({"helper": agent("echo")}):
        task = await mesh.ask("helper", 'echo {"city": "Oslo"}')
        assert "Oslo" in completed(await mesh.followed(task))
        live = mesh.records(task)
        assert completed(await mesh.followed(task)) == completed(await mesh.tasks.state(task))
        assert mesh.records(task) == live
        (started,) = [record for record in live if isinstance(record, ToolStarted)]
        (ended,) = [record for record in live if isinstance(record, ToolEnded)]
        assert started.remote is not None
        assert started.remote.invocation == ended.invocation
        assert [summary.id for summary in await mesh.tasks.recent(5)] == [task]


async def test_a_task_follows_what_was_said_before(tmp_path: Path) -> None:
    """The model reads the earlier tasks of the conversation, but only of the same person."""
    async with task_mesh(tmp_path, {}) as mesh, mesh.executor({"helper": agent()}):
        first = await mesh.ask("helper", "I am Ada.")
        await mesh.followed(first)
        second = await mesh.ask("helper", "Who am I?", follows=first)
        await mesh.followed(second)
        said = [message["content"] for message in mesh.model.asked[-1].body["messages"] if message["role"] == "user"]
        assert said == ["I am Ada.", "Who am I?"]
        await mesh.followed(await mesh.ask("helper", "Who am I?", follows=second, token=mesh.token("eve")))
        said = [message["content"] for message in mesh.model.asked[-1].body["messages"] if message["role"] == "user"]
        assert said == ["Who am I?"]


@pytest.mark.requirement("task:admission")
async def test_who_may_not_ask_is_told_in_the_task(tmp_path: Path) -> None:
    """No scope, a bad token, an unknown agent: each its own end, and no model is asked."""
    async with task_mesh(tmp_path, {}) as mesh, mesh.executor({"helper": agent(required_scopes=["hr:files:read"])}):
        no_scope = failed(await mesh.answered("helper", "hi", token=mesh.token(scopes=["agent:helper:invoke"])))
        assert (no_scope.code, "hr:files:read" in no_scope.message) == (ErrorCode.PERMISSION_DENIED, True)
        bad = failed(await mesh.answered("helper", "hi", token=mesh.token()[:-8] + "AAAAAAAA"))
        assert bad.code is ErrorCode.AUTHENTICATION_FAILED
        with pytest.raises(Exception, match="did you mean 'helper'"):
            await mesh.ask("helpr", "hi")
        assert mesh.model.asked == []


@pytest.mark.requirement("task:approval")
@pytest.mark.parametrize("agrees", [True, False])
async def test_a_call_waits_for_a_person_and_holds_nothing(tmp_path: Path, agrees: bool) -> None:
    """The question shows the template over the arguments; the executor has no task left; the answer decides."""
    helper = approved_agent("echo", approval_message="Tell {{ city | upcase }}?")
    async with task_mesh(tmp_path, {"echo": echo}) as mesh, mesh.executor({"helper": helper}):
        task = await mesh.ask("helper", 'echo {"city": "Oslo"}')
        state = await mesh.followed(task, until="question.asked")
        (question,) = state.questions.values()
        assert (question.text, question.arguments) == ("Tell OSLO?", '{"city": "Oslo"}')
        assert mesh.worker.taken == []
        with pytest.raises(TaskError, match="asks nothing"):
            await mesh.tasks.answer(task, Answer(call="9.9"), mesh.token())
        await mesh.tasks.answer(task, Answer(call="1.1", approved=agrees, text="not today"), mesh.token())
        told = completed(await mesh.followed(task))
        assert ("Oslo" in told, "not today" in told) == (agrees, not agrees)
        assert len(mesh.worker.taken) == agrees


@pytest.mark.requirement("task:approval")
async def test_a_task_that_waits_may_be_looked_after_as_often_as_anybody_wants(tmp_path: Path) -> None:
    """That is no sign of a task that ends its executors; it still goes on with its answer."""
    async with task_mesh(tmp_path, {"echo": echo}) as mesh, mesh.executor({"helper": approved_agent("echo")}):
        task = await mesh.ask("helper", "echo {}")
        await mesh.followed(task, until="question.asked")
        sender = TaskSender(mesh.broker.tasks())
        async with asyncio.timeout(60):
            while (state := await mesh.tasks.state(task)).in_vain <= 50:
                assert state.ended is None
                await sender.tell(Task(id=task, agent="helper", wake=True), mesh.token())
        await mesh.tasks.answer(task, Answer(call="1.1", approved=True), mesh.token())
        assert completed(await mesh.followed(task))


@pytest.mark.requirement("task:approval")
async def test_only_the_person_who_asked_can_answer_and_only_once(tmp_path: Path) -> None:
    """A stranger's answer changes nothing; of two answers the first counts, and the call runs once."""
    async with task_mesh(tmp_path, {"echo": echo}) as mesh, mesh.executor({"helper": approved_agent("echo")}):
        task = await mesh.ask("helper", 'echo {"city": "Oslo"}')
        await mesh.followed(task, until="question.asked")
        yes, no = Answer(call="1.1", approved=True), Answer(call="1.1", approved=False)
        with pytest.raises(TaskError, match="'ada'"):
            await mesh.tasks.answer(task, yes, mesh.token("eve"))
        sender = TaskSender(mesh.broker.tasks())
        await sender.tell(Task(id=task, agent="helper", answer=yes), mesh.token("eve"))
        await asyncio.sleep(0.5)
        assert (await mesh.tasks.state(task)).questions
        await mesh.tasks.answer(task, yes, mesh.token())
        await asyncio.gather(
            *(mesh.tasks.answer(task, each, mesh.token()) for each in (yes, no, yes)), return_exceptions=True
        )
        assert "Oslo" in completed(await mesh.followed(task))
        assert len(mesh.worker.taken) == 1


@pytest.mark.requirement("task:questions")
async def test_an_agent_asks_its_user_by_itself_and_another_executor_goes_on(tmp_path: Path) -> None:
    """Tools that need no worker; the task waits without the executor that asked, whose successor has the answer."""
    asks = """ask_user_question {"questions": [{"question": "Which city?", "options": [{"label": "Oslo"}]}]}"""
    helper = {"tools": [{"tool_type": "builtin-group", "group_name": "general_agent_tools"}]}
    async with task_mesh(tmp_path, {"echo": echo}) as mesh:
        async with mesh.executor({"helper": helper}):
            task = await mesh.ask("helper", f'{asks}\nget_current_time {{"timezone": "Europe/Oslo"}}')
            state = await mesh.followed(task, until="question.asked")
            assert [question.text for question in state.questions.values()] == ["Which city?\n- Oslo"]
        async with mesh.executor({"helper": helper}, "executor-2"):
            await mesh.tasks.answer(task, Answer(call="1.1", text="Oslo, please"), mesh.token())
            told = completed(await mesh.followed(task))
    assert told.startswith("Oslo, please | {")
    assert '"timezone": "Europe/Oslo"' in told


@pytest.mark.requirement("task:questions")
async def test_a_tools_question_is_answered_and_one_that_nobody_answers_ends(tmp_path: Path) -> None:
    """The answer is the call's result; without one in time the broker wakes the task, and the model is told."""
    quick = approved_agent("echo", timeout="1s")
    async with (
        task_mesh(tmp_path, {"which": asks_which, "echo": echo}) as mesh,
        mesh.executor({"helper": agent("which"), "quick": quick}),
    ):
        task = await mesh.ask("helper", "which {}")
        state = await mesh.followed(task, until="question.asked")
        assert [question.text for question in state.questions.values()] == ["Which Oslo?"]
        await mesh.tasks.answer(task, Answer(call="1.1", text="the one in Norway"), mesh.token())
        assert completed(await mesh.followed(task)) == "the one in Norway"
        assert "did not answer in time" in completed(await mesh.answered("quick", "echo {}"))


@pytest.mark.requirement("task:cancel")
@pytest.mark.parametrize("while_it", ["runs", "waits", "is queued"])
async def test_a_task_is_taken_back_wherever_it_is(tmp_path: Path, while_it: str) -> None:
    """Its tool is stopped, its question is void, or it never begins."""
    agents = {"helper": agent("slow"), "careful": approved_agent("slow")}
    async with task_mesh(tmp_path, {"slow": until_cancelled}) as mesh:
        if while_it == "is queued":
            async with mesh.executor(agents):
                pass
            task = new_uuid7()
            await TaskSender(mesh.broker.tasks()).start(Task(id=task, agent="helper", text="slow {}"), mesh.token())
            assert await mesh.tasks.cancel(task, "asked twice")
            async with mesh.executor(agents):
                await asyncio.sleep(0.5)
        else:
            async with mesh.executor(agents) as _:
                task = await mesh.ask("helper" if while_it == "runs" else "careful", "slow {}")
                await mesh.followed(task, until="tool.started" if while_it == "runs" else "question.asked")
                if while_it == "runs":
                    await until(lambda: bool(mesh.worker.running))
                assert await mesh.tasks.cancel(task, "asked twice")
                await until(lambda: not mesh.worker.running)
        state = await mesh.followed(task)
        assert state.ended == TaskCancelled(reason="asked twice")
        assert not await mesh.tasks.cancel(task, "again")
        assert len(mesh.worker.taken) == (while_it == "runs")


async def test_a_task_ends_at_its_deadline_with_its_calls(tmp_path: Path) -> None:
    """While a tool runs and while it waits for a person."""
    agents = {"helper": agent("slow"), "careful": approved_agent("slow")}
    async with task_mesh(tmp_path, {"slow": until_cancelled}) as mesh, mesh.executor(agents):
        running = failed(await mesh.answered("helper", "slow {}", timeout_s=1.5))
        waiting = failed(await mesh.answered("careful", "slow {}", timeout_s=1.5))
        await until(lambda: not mesh.worker.running)
    assert {running.code, waiting.code} == {ErrorCode.DEADLINE_EXCEEDED}


@pytest.mark.requirement("task:peers")
async def test_an_agent_asks_another_one_that_runs_elsewhere(tmp_path: Path) -> None:
    """Its answer is the call's result; the parent holds no executor meanwhile; the child belongs to the same person."""
    async with (
        task_mesh(tmp_path, {"echo": echo}) as mesh,
        mesh.executor({"helper": agent()}),
        mesh.executor({"expert": agent("echo")}, "executor-2"),
    ):
        text = 'peer_expert {"text": "echo {\\"city\\": \\"Oslo\\"}"}'
        task = await mesh.ask("helper", text)
        assert "Oslo" in completed(await mesh.followed(task))
        (started,) = [record for record in mesh.records(task) if isinstance(record, ToolStarted)]
        assert started.peer is not None
        child = await mesh.tasks.state(started.peer.task)
        assert child.started is not None
        assert (child.started.parent, child.started.depth, child.started.user) == (task, 1, "ada")
        assert [record for record in mesh.records(task) if isinstance(record, TaskResumed)]


@pytest.mark.requirement("task:peers")
async def test_peers_are_only_those_that_file_and_caller_allow_and_not_too_deep(tmp_path: Path) -> None:
    """Lists of the file, scopes of the caller, the cap of the depth: what may not be asked is not even seen."""
    agents = {
        "helper": agent(inter_agent_communication={"deny_list": ["sec*"]}),
        "expert": agent(),
        "secret": agent(),
        "shallow": agent(max_call_depth=1),
    }
    async with task_mesh(tmp_path, {}) as mesh, mesh.executor(agents):
        await mesh.answered("helper", "hi")
        assert list(mesh.model.asked[-1].tools) == ["peer_expert", "peer_shallow"]
        await mesh.answered("helper", "hi", token=mesh.token(scopes=["agent:helper:invoke", "agent:exp*:invoke"]))
        assert list(mesh.model.asked[-1].tools) == ["peer_expert"]
        await mesh.answered("shallow", "hi")
        assert list(mesh.model.asked[-1].tools) == []


@pytest.mark.requirement("task:peers")
async def test_a_paused_peer_is_not_taken_as_final_and_goes_with_its_asker(tmp_path: Path) -> None:
    """The parent waits while the child asks a person; cancelling the parent cancels the child."""
    agents = {"helper": agent(), "careful": approved_agent("echo")}
    async with task_mesh(tmp_path, {"echo": echo}) as mesh, mesh.executor(agents):
        for cancels in (False, True):
            task = await mesh.ask("helper", 'peer_careful {"text": "echo {}"}')
            state = await mesh.followed(task, until="tool.started")
            (started,) = state.begun.values()
            assert started.peer is not None
            child = started.peer.task
            await mesh.followed(child, until="question.asked")
            assert (await mesh.tasks.state(task)).ended is None
            if cancels:
                assert await mesh.tasks.cancel(task, "enough")
                assert isinstance((await mesh.followed(child)).ended, TaskCancelled)
            else:
                await mesh.tasks.answer(child, Answer(call="1.1", approved=True), mesh.token())
                assert completed(await mesh.followed(task))


@pytest.mark.requirement("task:peers")
async def test_an_agent_goes_on_when_the_task_that_it_gave_is_cancelled(tmp_path: Path) -> None:
    """At once, though the other agent has put it down; what became of it is told to the model."""
    patient = agent(inter_agent_communication={"request_timeout_seconds": 600})
    async with (
        task_mesh(tmp_path, {"echo": echo}) as mesh,
        mesh.executor({"helper": patient, "careful": approved_agent("echo")}),
    ):
        task = await mesh.ask("helper", 'peer_careful {"text": "echo {}"}')
        (started,) = (await mesh.followed(task, until="tool.started")).begun.values()
        assert started.peer is not None
        await mesh.followed(started.peer.task, until="question.asked")
        assert await mesh.tasks.cancel(started.peer.task, "not needed", mesh.token())
        assert "not needed" in completed(await mesh.followed(task))


async def test_a_peer_that_nobody_runs_in_time_is_an_answer_for_the_model(tmp_path: Path) -> None:
    """The deadline of the file ends it: the parent is woken by the broker and goes on."""
    helper = agent(inter_agent_communication={"request_timeout_seconds": 1})
    async with (
        task_mesh(tmp_path, {"slow": until_cancelled}) as mesh,
        mesh.executor({"helper": helper, "expert": agent("slow")}),
    ):
        told = completed(await mesh.answered("helper", 'peer_expert {"text": "slow {}"}'))
        assert "deadline" in told
        await until(lambda: not mesh.worker.running)


async def test_many_tasks_at_once_end_and_more_than_fit_wait(tmp_path: Path) -> None:
    """Sixty tasks on an executor that runs ten at a time."""
    async with (
        task_mesh(tmp_path, {"echo": echo}) as mesh,
        mesh.executor({"helper": agent("echo")}, tasks={"parallel": 10}),
    ):
        states = await asyncio.gather(*(mesh.answered("helper", f'echo {{"n": {number}}}') for number in range(60)))
        assert all(f'"n":{number}' in completed(state).replace(" ", "") for number, state in enumerate(states))


async def test_a_tool_whose_workers_are_being_replaced_is_waited_for(tmp_path: Path) -> None:
    """Nobody serves it when the model calls it; a moment later somebody does, and the call is made."""

    def model(asked: Question) -> Turn:
        return says(asked.results[0]) if asked.results else calls(("late", "{}"))

    async with task_mesh(tmp_path, {}, model) as mesh, mesh.executor({"helper": agent("late")}):
        task = await mesh.ask("helper", "please")
        await until(lambda: len(mesh.model.asked) == 1)
        await asyncio.sleep(0.3)
        mesh.worker.tools["late"] = echo
        await mesh.worker.publish_catalog()
        assert completed(await mesh.followed(task)) == "{}"


@pytest.mark.requirement("loop:compaction")
async def test_a_conversation_that_outgrows_its_model_goes_on(tmp_path: Path) -> None:
    """The summary is an event of its task, and stands for what was said in the tasks before it."""

    def narrow(asked: Question) -> Turn:
        if len(json.dumps(asked.body)) > 5000:
            body = {"error": {"message": "m", "type": "invalid_request_error", "code": "context_length_exceeded"}}
            return Turn(status=400, raw=json.dumps(body).encode())
        return Turn(said=Said(text="many z" if "Write a summary" in asked.user else "yes"))

    async with task_mesh(tmp_path, {}, narrow) as mesh, mesh.executor({"helper": agent()}):
        first = await mesh.ask("helper", "z" * 3000)
        assert completed(await mesh.followed(first)) == "yes"
        state = await mesh.answered("helper", "y" * 3000, follows=first)
    assert completed(state) == "yes"
    assert [(one.text, one.turns) for one in state.compactions] == [("many z", 0)]


async def test_an_agents_turns_go_to_the_providers_of_the_executor(tmp_path: Path) -> None:
    """As questions of tools do."""
    async with task_mesh(tmp_path, {}) as mesh:
        providers = {"house": {"base_url": mesh.model.openai_url, "api_key": "house-key"}}
        helper = agent(model="house/small")
        async with mesh.executor({"helper": helper}, models={"providers": providers}):
            assert completed(await mesh.answered("helper", "hello")) == "you said hello"
        (asked,) = mesh.model.asked
    assert (asked.model, asked.key) == ("small", "house-key")


@pytest.mark.requirement("task:admission")
async def test_a_task_whose_token_is_no_longer_good_when_it_comes_again_ends(tmp_path: Path) -> None:
    """Its executor is gone and its token is not believed any more: it fails with that reason, instead of never ending."""
    async with task_mesh(tmp_path, {"slow": until_cancelled}) as mesh:
        async with mesh.executor_process({"helper": agent("slow")}, "executor-1") as first:
            await mesh.until_known({"helper": 0})
            task = await mesh.ask("helper", "slow {}")
            await mesh.followed(task, until="tool.started")
            first.kill()
            await first.wait()
        keys = {**mesh.document("executor-2", {})["keys"], "issuer": str(mesh.issuer.executor_public_file)}
        async with mesh.executor({"helper": agent("slow")}, "executor-2", keys=keys):
            ended = failed(await mesh.followed(task))
    assert ended.code is ErrorCode.AUTHENTICATION_FAILED
