"""Turns of a conversation against a scripted server, in both dialects."""

import json
from dataclasses import replace

import pytest
from tests.support.model_addresses import KEY, endpoint

from toolmesh_broker.errors import BrokerTimeoutError
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.models.client import ModelClient
from toolmesh_executor.models.errors import ModelError, ModelFailedError
from toolmesh_executor.models.turns import (
    AskedCall,
    ModelSaid,
    OfferedTool,
    ToolSaid,
    TurnAnswer,
    TurnQuestion,
    UserSaid,
)
from toolmesh_scripted_model import Said, ScriptedModel, Turn, scripted_model

pytestmark = pytest.mark.timeout(180)  # the provider libraries take seconds to import

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = OfferedTool("weather", "Tell the weather.", CITY)
QUESTION = TurnQuestion(system_prompt="be short", messages=(UserSaid("why?"),), tools=(WEATHER,))


@pytest.fixture(params=["openai", "anthropic"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Asker:
    """Asks one server, and keeps the text that came and why it became void."""

    def __init__(self, client: ModelClient, server: ScriptedModel, dialect: str) -> None:
        self.texts: list[str] = []
        self.voids: list[str] = []
        self._client = client
        self._endpoint = endpoint(server, dialect)

    async def __call__(self, question: TurnQuestion, budget_s: float = 60) -> TurnAnswer:
        return await self._client.turn(self._endpoint, question, budget_s, self._hear, self._void)

    async def _hear(self, text: str) -> None:
        self.texts.append(text)

    async def _void(self, reason: str) -> None:
        self.voids.append(reason)
        self.texts.clear()


@pytest.mark.requirement("loop:streaming")
async def test_text_comes_in_pieces(dialect: str) -> None:
    """Each as soon as the provider sends it; together they are the answer."""
    async with scripted_model() as server, ModelClient.open() as client:
        ask = Asker(client, server, dialect)
        answer = await ask(QUESTION)
        (asked,) = server.asked
    assert (answer.text, answer.calls, answer.finish) == ("heard why?", (), "stop")
    assert (answer.input_tokens, answer.output_tokens) == (11, 7)
    assert "".join(ask.texts) == answer.text
    assert len(ask.texts) > 2
    assert (asked.system, asked.user, asked.tools, asked.stream) == ("be short", "why?", ("weather",), True)


@pytest.mark.requirement("loop:parallel")
async def test_parallel_calls_are_put_together_and_their_results_sent_back(dialect: str) -> None:
    """Arguments come in pieces of three characters; the history is one that the provider takes."""
    said = Said(text="look: ", tool_calls=[("weather", '{"city": "Oslo"}'), ("weather", '{"city": "Bergen"}')])
    async with scripted_model() as server, ModelClient.open() as client:
        ask = Asker(client, server, dialect)
        server.script(Turn(said=said))
        first = await ask(QUESTION)
        results = [ToolSaid(call.model_id, call.name, f"rain {call.arguments}", failed=False) for call in first.calls]
        messages = (*QUESTION.messages, ModelSaid(first.response), *results)
        second = await ask(replace(QUESTION, messages=messages))
    assert (first.text, first.finish) == ("look: ", "tools")
    assert [(call.name, json.loads(call.arguments)["city"]) for call in first.calls] == [
        ("weather", "Oslo"),
        ("weather", "Bergen"),
    ]
    assert server.asked[1].results == tuple(f"rain {call.arguments}" for call in first.calls)
    assert second.text == "heard why?"


async def test_illegal_names_are_spelled_legally_and_come_back_as_they_are(dialect: str) -> None:
    """No provider sees `a.b/c`, not even in the history, and the loop sees nothing else."""
    tools = (OfferedTool("a.b/c", "One.", CITY), OfferedTool("a_b_c", "Two.", CITY))
    async with scripted_model() as server, ModelClient.open() as client:
        ask = Asker(client, server, dialect)
        await ask(replace(QUESTION, tools=tools))
        spelled, plain = server.asked[0].tools
        calls = [(spelled, "{}"), ("a_b_c", "{}"), ("made.up", "{}")]
        server.script(Turn(said=Said(tool_calls=calls)))
        answer = await ask(replace(QUESTION, tools=tools))
        results = [ToolSaid(call.model_id, call.name, "done", failed=True) for call in answer.calls]
        await ask(replace(QUESTION, tools=tools, messages=(UserSaid("x"), ModelSaid(answer.response), *results)))
        sent = json.dumps(server.asked[2].body)
    assert plain == "a_b_c"
    assert spelled.startswith("a_b_c_")
    assert [call.name for call in answer.calls] == ["a.b/c", "a_b_c", "made.up"]
    assert "made_up" in sent
    assert "made.up" not in sent


@pytest.mark.requirement("loop:restart")
async def test_a_stream_that_breaks_off_is_asked_again_and_its_text_is_void(dialect: str) -> None:
    """The reader is told, and the answer is whole."""
    async with scripted_model() as server, ModelClient.open() as client:
        ask = Asker(client, server, dialect)
        server.script(Turn(said=Said(text="half an answer"), cut_after=700 if dialect == "openai" else 900))
        answer = await ask(QUESTION)
    assert answer.text == "heard why?"
    assert "".join(ask.texts) == answer.text
    assert len(ask.voids) == 1
    assert f"{dialect}/small" in ask.voids[0]
    assert len(server.asked) == 2


async def test_an_error_before_any_text_is_tried_again_without_a_word(dialect: str) -> None:
    """Nothing of what a reader saw is void."""
    async with scripted_model() as server, ModelClient.open() as client:
        ask = Asker(client, server, dialect)
        server.script(Turn(status=429, headers={"retry-after": "0"}), Turn(status=503))
        answer = await ask(QUESTION)
    assert (answer.text, ask.voids) == ("heard why?", [])


@pytest.mark.requirement("loop:budget")
async def test_one_budget_bounds_all_attempts(dialect: str) -> None:
    """A provider that stalls can't hold a task for longer."""
    async with scripted_model() as server, ModelClient.open() as client:
        ask = Asker(client, server, dialect)
        await ask(QUESTION)  # loads the libraries
        server.script(*[Turn(stall=True)] * 20)
        with pytest.raises(ModelError) as caught:
            await ask(QUESTION, budget_s=1.5)
    assert caught.value.code is ErrorCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize(("finish", "expected"), [("length", "length"), ("stop", "stop")])
async def test_why_an_answer_ended_is_known(dialect: str, finish: str, expected: str) -> None:
    """A cut answer can be gone on with."""
    async with scripted_model() as server, ModelClient.open() as client:
        server.script(Turn(said=Said(text="so", finish=finish)))
        answer = await Asker(client, server, dialect)(QUESTION)
    assert answer.finish == expected


async def test_silence_is_an_answer_only_after_tools(dialect: str) -> None:
    """A model that has nothing to add to what a tool did is done."""
    async with scripted_model() as server, ModelClient.open() as client:
        ask = Asker(client, server, dialect)
        server.script(Turn(said=Said(tool_calls=[("weather", "{}")])), Turn(said=Said()), Turn(said=Said()))
        first = await ask(QUESTION)
        done = ToolSaid(first.calls[0].model_id, "weather", "done", failed=False)
        silent = await ask(replace(QUESTION, messages=(UserSaid("x"), ModelSaid(first.response), done)))
        with pytest.raises(ModelFailedError, match="no text"):
            await ask(QUESTION)
    assert (silent.text, silent.calls) == ("", ())


async def test_what_is_no_json_stays_as_the_model_wrote_it() -> None:
    """The loop tells the model what is wrong with it, and the history with it is still one that a provider takes."""
    async with scripted_model() as server, ModelClient.open() as client:
        ask = Asker(client, server, "openai")
        server.script(Turn(said=Said(tool_calls=[("weather", '{"city": ')])))
        answer = await ask(QUESTION)
        told = ToolSaid(answer.calls[0].model_id, "weather", "not valid JSON", failed=True)
        await ask(replace(QUESTION, messages=(UserSaid("x"), ModelSaid(answer.response), told)))
    assert answer.calls == (AskedCall(answer.calls[0].model_id, "weather", '{"city": '),)


async def test_calls_of_the_same_id_are_told_apart() -> None:
    """Some servers give every call the same one; two results under it would be refused."""
    same = b"".join(
        b"data: "
        + json.dumps(
            {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "small", "choices": [choice]}
        ).encode()
        + b"\n\n"
        for choice in (
            *(
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {
                                "index": number,
                                "id": "call_0",
                                "type": "function",
                                "function": {"name": "weather", "arguments": "{}"},
                            }
                        ]
                    },
                }
                for number in range(2)
            ),
            {"index": 0, "delta": {}, "finish_reason": "tool_calls"},
        )
    )
    async with scripted_model() as server, ModelClient.open() as client:
        server.script(Turn(raw=same, headers={"content-type": "text/event-stream"}))
        answer = await Asker(client, server, "openai")(QUESTION)
    assert len({call.model_id for call in answer.calls}) == 2


async def test_tokens_are_believed_within_reason(dialect: str) -> None:
    """A provider may claim anything."""
    async with scripted_model() as server, ModelClient.open() as client:
        server.script(Turn(said=Said(text="so", input_tokens=5, output_tokens=10**15)))
        answer = await Asker(client, server, dialect)(QUESTION)
    assert (answer.input_tokens, answer.output_tokens) == (5, 2**31)


async def test_the_key_is_nowhere_in_what_is_kept(dialect: str) -> None:
    """A provider may repeat what it was sent."""
    async with scripted_model() as server, ModelClient.open() as client:
        server.script(Turn(said=Said(text=f"your key is {KEY}")))
        answer = await Asker(client, server, dialect)(QUESTION)
    assert KEY not in answer.text
    assert KEY.encode() not in answer.response


@pytest.mark.requirement("loop:secrets")
async def test_a_provider_that_repeats_our_key_is_not_heard_with_it(dialect: str) -> None:
    """Not in the text as it comes, though the key comes in pieces, nor in calls or the history."""
    said = Said(text=f"you sent {KEY}, I think", tool_calls=[("weather", json.dumps({"city": KEY}))])
    async with scripted_model() as server, ModelClient.open() as client:
        ask = Asker(client, server, dialect)
        server.script(Turn(said=said))
        answer = await ask(QUESTION)
    assert answer.text == "".join(ask.texts) == "you sent [redacted], I think"
    assert json.loads(answer.calls[0].arguments) == {"city": "[redacted]"}
    assert KEY.encode() not in answer.response


async def test_half_a_character_is_replaced_wherever_a_model_writes_it(dialect: str) -> None:
    """JSON can hold what UTF-8 can't; it ends no task."""
    said = Said(text="a \ud800 b", tool_calls=[("wea\udfffther", '{"city": "\ud800"}')])
    async with scripted_model() as server, ModelClient.open() as client:
        ask = Asker(client, server, dialect)
        server.script(Turn(said=said))
        answer = await ask(QUESTION)
    assert answer.text == "".join(ask.texts) == "a ? b"
    assert [(call.name, call.arguments) for call in answer.calls] == [("wea?ther", '{"city": "?"}')]


async def test_what_the_listener_meets_is_no_fault_of_the_model(dialect: str) -> None:
    """It reaches the one who asked as it is, and nothing is asked again."""

    async def broken(text: str) -> None:
        raise BrokerTimeoutError("no answer")

    async with scripted_model() as server, ModelClient.open() as client:
        with pytest.raises(BrokerTimeoutError):
            await client.turn(endpoint(server, dialect), QUESTION, 60, broken, broken)
        assert len(server.asked) == 1
