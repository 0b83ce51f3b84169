"""The model layer against a scripted server: both dialects, and everything that a provider can do wrong."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.support.model_addresses import KEY, endpoint

from toolmesh_contracts.agent_config.agent import ModelSettings
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.model_config import ModelProvider
from toolmesh_executor.models.client import ModelClient
from toolmesh_executor.models.endpoints import Endpoints
from toolmesh_executor.models.errors import (
    ModelError,
    ModelFailedError,
    ModelNotConfiguredError,
    ModelUnavailableError,
)
from toolmesh_executor.models.provider_models import ProviderModels
from toolmesh_executor.models.questions import ModelQuestion
from toolmesh_scripted_model import Said, Turn, scripted_model

pytestmark = pytest.mark.timeout(180)  # the provider libraries take seconds to import

ASKED = ModelQuestion(system_prompt="be short", user_prompt="why?", temperature=0.3, max_tokens=50)


@pytest.fixture(params=["openai", "anthropic"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.requirement("models:dialects")
async def test_question_and_answer_in_both_dialects(dialect: str) -> None:
    """Prompts, temperature, longest answer and key arrive; text and tokens come back."""
    async with scripted_model() as server, ModelClient.open() as client:
        answer = await client.ask(endpoint(server, dialect), ASKED, 60)
        (asked,) = server.asked
    assert (answer.text, answer.model) == ("heard why?", f"{dialect}/small")
    assert (answer.input_tokens, answer.output_tokens, answer.cut) == (11, 7, False)
    assert (asked.dialect, asked.model, asked.system, asked.user, asked.key) == (
        dialect,
        "small",
        "be short",
        "why?",
        KEY,
    )
    assert asked.body["temperature"] == 0.3
    assert 50 in (asked.body.get("max_tokens"), asked.body.get("max_completion_tokens"))


async def test_half_a_character_in_an_answer_is_replaced(dialect: str) -> None:
    """Such text could not travel on, and the tool would wait for it in vain."""
    async with scripted_model() as server, ModelClient.open() as client:
        server.script(Turn(said=Said(text="a\ud800b")))
        answer = await client.ask(endpoint(server, dialect), ASKED, 60)
    assert answer.text == "a?b"


@pytest.mark.requirement("models:retries")
async def test_what_passes_is_tried_again_in_one_place(dialect: str) -> None:
    """A rate limit with Retry-After, a fault of the server and a cut answer, each asked again; the libraries add none."""
    async with scripted_model() as server, ModelClient.open() as client:
        server.script(
            Turn(status=429, headers={"retry-after": "0"}), Turn(status=500), Turn(cut_after=5), Turn(status=529)
        )
        answer = await client.ask(endpoint(server, dialect), ASKED, 90)
    assert answer.text == "heard why?"
    assert len(server.asked) == 5


@pytest.mark.parametrize(
    ("turn", "code", "says", "hint"),
    [
        (Turn(status=401), "MODEL_NOT_CONFIGURED", "the key for model", "_API_KEY in the executor's environment"),
        (Turn(status=404), "MODEL_NOT_CONFIGURED", "is unknown to its provider", "correct its name"),
        (Turn(status=400), "MODEL_FAILED", "refused the question", ""),
        (Turn(said=Said(finish="length")), "MODEL_FAILED", "used up its longest answer", "raise max_tokens"),
        (Turn(said=Said(tool_calls=[("find", "{}")])), "MODEL_FAILED", "called a tool", "in words"),
        (Turn(status=403, said=Said(text=KEY)), "MODEL_NOT_CONFIGURED", "was refused", ""),
        (Turn(raw=b"{no json"), "MODEL_FAILED", "can't be used", ""),
        (Turn(raw=b'{"surprise": [1]}'), "MODEL_FAILED", "can't be used", ""),
        (Turn(raw=b"[]"), "MODEL_FAILED", "can't be used", ""),
        (Turn(said=Said(text="x" * 600_000)), "MODEL_FAILED", "has 600000 bytes", "max_tokens"),
        (Turn(status=429, headers={"retry-after": "3600"}), "MODEL_UNAVAILABLE", "limits the rate", "try again later"),
        (Turn(stall=True), "DEADLINE_EXCEEDED", "did not answer within", "more time"),
    ],
)
@pytest.mark.requirement("models:errors")
async def test_each_failure_has_its_code_and_says_what_to_do(
    dialect: str, turn: Turn, code: str, says: str, hint: str
) -> None:
    """None is asked again in vain, none takes longer than its budget, and none repeats key or question."""
    async with scripted_model() as server, ModelClient.open() as client:
        await client.ask(endpoint(server, dialect), ASKED, 60)  # the libraries are loaded
        server.script(turn)
        with pytest.raises(ModelError) as caught:
            await client.ask(endpoint(server, dialect), ASKED, 1.5 if turn.stall else 60)
    assert (caught.value.code, len(server.asked)) == (ErrorCode(code), 2)
    assert caught.value.costs_nothing == (400 <= turn.status < 500)
    assert caught.value.retryable == (code == "MODEL_UNAVAILABLE")
    assert not caught.value.unreached
    assert says in caught.value.message
    assert hint in caught.value.hint
    assert KEY not in str(caught.value)
    assert "why?" not in str(caught.value)


@pytest.mark.requirement("models:errors")
async def test_unreachable_provider_is_tried_until_the_budget_ends() -> None:
    """A refused connection may be a restart; the last reason is what the caller hears."""
    async with ModelClient.open() as client:
        async with scripted_model() as server:
            where = endpoint(server, "openai")
            await client.ask(where, ASKED, 60)
        with pytest.raises(ModelError, match="the connection to model 'openai/small' failed"):
            await client.ask(where, ASKED, 3)


async def test_parameters_of_an_agents_file_reach_the_provider() -> None:
    """Known ones as such, others in the body; the question's own longest answer is no longer than the file's."""
    async with scripted_model() as server, ModelClient.open() as client:
        settings: dict[str, Any] = {"model": "openai/x", "api_base": server.openai_url, "max_tokens": 20, "mirostat": 2}
        where = Endpoints({}, {"OPENAI_API_KEY": KEY}).of(ModelSettings.model_validate(settings))
        server.script(Turn(said=Said(text="cut", finish="length")))
        answer = await client.ask(where, ASKED, 60)
        (asked,) = server.asked
    assert answer.cut
    assert asked.body["mirostat"] == 2
    assert 20 in (asked.body.get("max_tokens"), asked.body.get("max_completion_tokens"))
    assert asked.key != KEY  # the environment's key is not for an address of an agent's file


async def test_configured_provider_is_asked_at_its_address() -> None:
    """Any server that speaks a dialect is a provider, and names of models may have slashes."""
    async with scripted_model() as server, ModelClient.open() as client:
        providers = {"own": ModelProvider(base_url=server.openai_url, api_key=KEY)}
        answer = await client.ask(Endpoints(providers, {}).of("own/org/llama"), ASKED, 60)
    assert answer.model == "own/org/llama"
    assert (server.asked[0].model, server.asked[0].key) == ("org/llama", KEY)


@pytest.mark.requirement("models:keys")
async def test_variables_of_the_libraries_reach_no_provider(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers and names from the executor's environment are not for the address in an agent's file."""
    monkeypatch.setenv(f"{dialect.upper()}_CUSTOM_HEADERS", f"X-Secret: {KEY}\nAuthorization: Bearer {KEY}")
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, KEY)
    async with scripted_model() as server, ModelClient.open() as client:
        base = server.openai_url if dialect == "openai" else server.url
        settings = {"model": f"{dialect}/x", "api_base": base, "api_key": "sk-own"}
        await client.ask(Endpoints({}, {}).of(ModelSettings.model_validate(settings)), ASKED, 60)
        (asked,) = server.asked
    assert asked.key == "sk-own"
    assert not [name for name, value in asked.headers.items() if KEY in value]


@pytest.mark.requirement("models:keys")
async def test_configured_key_is_not_sent_to_the_address_in_a_variable(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider without an address is asked at its own one."""
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://else.example")
    provider = ModelProvider.model_validate({"dialect": dialect, "api_key": KEY})
    models = ProviderModels()
    try:
        made = await models._model(Endpoints({"own": provider}, {}).of("own/x"))
        assert f"https://api.{dialect}.com" in str(made.base_url)
    finally:
        await models.close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.requirement("models:keys")
async def test_redirect_is_not_followed(dialect: str, status: int) -> None:
    """The key would go wherever the server points to; the error says which setting to correct, and costs nothing."""
    async with scripted_model() as server, scripted_model() as elsewhere, ModelClient.open() as client:
        path = "/v1/chat/completions" if dialect == "openai" else "/v1/messages"
        server.script(Turn(status=status, headers={"location": elsewhere.url + path}))
        with pytest.raises(ModelNotConfiguredError, match=f"base_url of model .* redirect \\({status}\\)") as caught:
            await client.ask(endpoint(server, dialect), ASKED, 60)
        assert elsewhere.asked == []
        assert len(server.asked) == 1
    assert f"{dialect.upper()}_BASE_URL" in caught.value.hint
    assert caught.value.costs_nothing


@pytest.mark.requirement("models:errors")
async def test_answer_without_text_is_an_error_that_may_be_tried_again(dialect: str) -> None:
    """It was a success with an empty text; asked again by the tool, not by us, as each answer is paid for."""
    async with scripted_model() as server, ModelClient.open() as client:
        server.script(Turn(said=Said(text="")))
        with pytest.raises(ModelFailedError, match="has no text") as caught:
            await client.ask(endpoint(server, dialect), ASKED, 60)
        assert len(server.asked) == 1
    assert caught.value.retryable
    assert not caught.value.costs_nothing


@pytest.mark.parametrize("said", [f"your key is {KEY}.", f'{{"authorization": "Bearer {KEY}"}}'])
@pytest.mark.requirement("models:keys")
async def test_key_in_an_answer_goes_no_further(dialect: str, said: str) -> None:
    """A proxy that repeats what it was sent would give the key to every tool."""
    async with scripted_model() as server, ModelClient.open() as client:
        server.script(Turn(said=Said(text=said)))
        answer = await client.ask(endpoint(server, dialect), ASKED, 60)
    assert answer.text == said.replace(KEY, "[redacted]")


@pytest.mark.requirement("models:keys")
async def test_key_in_a_reason_goes_no_further() -> None:
    """The code of an error is repeated to the tool, and a provider writes what it likes there."""
    async with scripted_model() as server, ModelClient.open() as client:
        server.script(Turn(status=400, raw=f'{{"error": {{"message": "m", "code": "bad {KEY}"}}}}'.encode()))
        with pytest.raises(ModelFailedError, match=r"refused the question: bad \[redacted\]"):
            await client.ask(endpoint(server, "openai"), ASKED, 60)


@pytest.mark.requirement("models:bounds")
async def test_provider_that_is_not_reached_costs_nothing(dialect: str) -> None:
    """Nobody charges for a connection that there was not; one that is cut later may have cost its answer."""
    async with ModelClient.open() as client:
        async with scripted_model() as server:
            where = endpoint(server, dialect)
            server.script(*[Turn(cut_after=5)] * 9)
            with pytest.raises(ModelUnavailableError) as cut:
                await client.ask(where, ASKED, 1)
        with pytest.raises(ModelUnavailableError) as refused:
            await client.ask(where, ASKED, 1)
    assert (cut.value.costs_nothing, refused.value.costs_nothing) == (False, True)
    assert (cut.value.unreached, refused.value.unreached) == (False, True)


@pytest.mark.requirement("models:bounds")
async def test_time_in_which_libraries_are_loaded_is_not_asking(dialect: str) -> None:
    """An attempt begins when the provider can be asked: what ends before it costs nothing."""
    begun = asyncio.Event()

    @contextlib.asynccontextmanager
    async def around() -> AsyncIterator[None]:
        begun.set()
        yield

    async with scripted_model() as server, ModelClient.open() as client:
        asking = asyncio.create_task(client.ask(endpoint(server, dialect), ASKED, 60, around))
        await begun.wait()
        assert client._models is not None
        assert [one.dialect for one in client._models._models] == [dialect]
        await asking
