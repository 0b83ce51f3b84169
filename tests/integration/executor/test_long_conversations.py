"""Conversations that a scripted provider refuses as too long, in both dialects, over its socket."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.support.function_tools import FunctionTools, OnStatus
from tests.support.model_addresses import endpoint
from tests.support.task_mesh import task_mesh

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.loop.decisions import LoopLimits
from toolmesh_executor.loop.journal import MemoryJournal
from toolmesh_executor.loop.records import ConversationCompacted, Record, TaskCompleted, TaskFailed, TaskStarted
from toolmesh_executor.loop.runner import LoopSettings, TaskRun
from toolmesh_executor.loop.toolbox import ToolOutcome
from toolmesh_executor.models.client import ModelClient
from toolmesh_executor.models.errors import QuestionTooLongError
from toolmesh_executor.models.turns import TurnAnswer, TurnQuestion, UserSaid
from toolmesh_scripted_model import Question, Said, ScriptedModel, Turn, scripted_model

pytestmark = pytest.mark.timeout(180)  # the provider libraries take seconds to import

START = TaskStarted(agent="a", user="u", text="why?")
OPENAI = {
    "error": {
        "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
}
VLLM = {
    "object": "error",
    "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
    "type": "BadRequestError",
    "param": None,
    "code": 400,
}
LLAMA = {
    "error": {
        "code": 400,
        "message": "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 4390,
        "n_ctx": 4096,
    }
}
ANTHROPIC = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "prompt is too long: 207791 tokens > 200000 maximum"},
}
ANTHROPIC_ROOM = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length "
        "or `max_tokens` and try again",
    },
}


def too_long(dialect: str) -> Turn:
    return refusal(OPENAI if dialect == "openai" else ANTHROPIC)


def refusal(body: object) -> Turn:
    return Turn(status=400, raw=json.dumps(body).encode())


@pytest.fixture(params=["openai", "anthropic"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def tells_much(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
    return ToolOutcome(outcome=Outcome.OK, content=f"{arguments.decode()} {'y' * 3000}")


@dataclass
class Narrow:
    """A model that calls a tool six times, whose questions may have so many bytes."""

    most: int
    summary: str = "six times y"
    wanted: int = 6
    calls: int = 0
    summaries: list[Question] = field(default_factory=list)

    def __call__(self, asked: Question) -> Turn:
        if len(json.dumps(asked.body)) > self.most:
            return too_long(asked.dialect)
        if "Write a summary" in asked.user:
            self.summaries.append(asked)
            return Turn(said=Said(text=self.summary))
        if self.calls < self.wanted:
            self.calls += 1
            return Turn(said=Said(tool_calls=[("a", json.dumps({"n": self.calls}))]))
        return Turn(said=Said(text="done"))


async def run(
    server: ScriptedModel, dialect: str, records: list[Record], earlier: tuple[UserSaid, ...] = (), part: float = 0.25
) -> Record | None:
    async with ModelClient.open() as client:

        async def ask(
            question: TurnQuestion,
            on_text: Callable[[str], Awaitable[None]],
            on_again: Callable[[str], Awaitable[None]],
        ) -> TurnAnswer:
            return await client.turn(endpoint(server, dialect), question, 60, on_text, on_again)

        journal = MemoryJournal(records.append)
        await journal.append(START)
        settings = LoopSettings(model="m", instruction="", limits=LoopLimits(), piece_bytes=1, compaction=part)
        return await TaskRun(journal, FunctionTools({"a": tells_much}), ask, settings, earlier).run()


@pytest.mark.parametrize(
    ("dialect", "body"),
    [("openai", OPENAI), ("openai", VLLM), ("openai", LLAMA), ("anthropic", ANTHROPIC), ("anthropic", ANTHROPIC_ROOM)],
    indirect=["dialect"],
)
async def test_each_way_to_say_too_long_is_understood(dialect: str, body: object) -> None:
    """Providers have their own words for it, all with status 400."""
    question = TurnQuestion(system_prompt="", messages=(UserSaid("why?"),), tools=())

    async def unheard(text: str) -> None:
        """No text comes."""

    async with scripted_model() as server, ModelClient.open() as client:
        server.script(refusal(body))
        with pytest.raises(QuestionTooLongError, match="too long for model"):
            await client.turn(endpoint(server, dialect), question, 60, unheard, unheard)
        assert len(server.asked) == 1


@pytest.mark.requirement("loop:compaction")
async def test_a_task_that_outgrows_its_model_is_done_over_a_summary(dialect: str) -> None:
    """The oldest calls are replaced by what the model wrote of them; the question and later results stay."""
    records: list[Record] = []
    model = Narrow(most=14_000)
    async with scripted_model(model) as server:
        assert await run(server, dialect, records) == TaskCompleted(text="done")
        last = json.dumps(server.asked[-1].body)
    compactions = [record for record in records if isinstance(record, ConversationCompacted)]
    assert compactions
    assert (compactions[0].text, compactions[0].earlier, compactions[0].turns) == ("six times y", 0, 1)
    assert (compactions[0].input_tokens, compactions[0].output_tokens) == (11, 7)
    assert "six times y" in last
    assert "why?" in last
    assert len(last) <= model.most
    assert model.summaries[0].tools == ("a",)


async def test_what_was_said_in_earlier_tasks_goes_first(dialect: str) -> None:
    """It is the oldest part."""
    records: list[Record] = []
    async with scripted_model(Narrow(most=6_000, wanted=0)) as server:
        earlier = tuple(UserSaid(f"{number} {'z' * 2000}") for number in range(4))
        assert await run(server, dialect, records, earlier) == TaskCompleted(text="done")
    last = [record for record in records if isinstance(record, ConversationCompacted)][-1]
    assert (last.turns, last.earlier > 0) == (0, True)


async def test_a_part_that_is_too_long_for_a_summary_is_halved(dialect: str) -> None:
    """Also with a `compaction_percentage` of 1."""
    records: list[Record] = []
    async with scripted_model(Narrow(most=10_000, wanted=0)) as server:
        earlier = tuple(UserSaid(f"{number} {'z' * 2000}") for number in range(6))
        assert await run(server, dialect, records, earlier, part=1) == TaskCompleted(text="done")
    assert any(isinstance(record, ConversationCompacted) and record.earlier == 3 for record in records)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Narrow(most=1), "nothing in it can be summarized"),
        (Narrow(most=9_000, summary="s" * 9_000), "no shorter summary"),
    ],
)
async def test_what_can_not_be_made_short_enough_fails_with_a_reason(dialect: str, model: Narrow, why: str) -> None:
    """And after few questions."""
    records: list[Record] = []
    async with scripted_model(Narrow(model.most, model.summary)) as server:
        ended = await run(server, dialect, records)
        assert len(server.asked) < 12
    assert isinstance(ended, TaskFailed)
    assert ended.code is ErrorCode.MODEL_FAILED
    assert why in ended.message


async def test_summaries_of_one_turn_are_bounded(dialect: str) -> None:
    """A provider that finds everything too long but summaries is asked no more after three of them."""

    def refuses(asked: Question) -> Turn:
        summary = "Write a summary" in asked.user
        return Turn(said=Said(text="short")) if summary else too_long(asked.dialect)

    records: list[Record] = []
    async with scripted_model(refuses) as server:
        earlier = tuple(UserSaid(f"{number} {'z' * 100}") for number in range(40))
        ended = await run(server, dialect, records, earlier, part=0.05)
        assert len(server.asked) == 7
    assert isinstance(ended, TaskFailed)
    assert "after 3 summaries" in ended.message


async def test_an_agents_file_can_do_without_summaries(tmp_path: Path) -> None:
    """Then the first refusal ends the task, and nothing more is asked."""
    async with (
        task_mesh(tmp_path, {}, lambda asked: too_long(asked.dialect)) as mesh,
        mesh.executor({"helper": {"auto_summarization": {"enabled": False}}}),
    ):
        state = await mesh.answered("helper", "go on")
        assert isinstance(state.ended, TaskFailed)
        assert (state.ended.code, "too long" in state.ended.message) == (ErrorCode.MODEL_FAILED, True)
        assert len(mesh.model.asked) == 1
