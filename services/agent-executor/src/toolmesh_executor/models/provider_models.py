"""The provider libraries behind our own question and answer; importing this module imports them."""

import asyncio
import importlib
import os
from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType
from typing import Any, Final

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from toolmesh_executor.models.clean_text import TextCleaner
from toolmesh_executor.models.endpoints import Endpoint
from toolmesh_executor.models.errors import ModelFailedError
from toolmesh_executor.models.provider_errors import told, without_text
from toolmesh_executor.models.provider_turns import OnText, believed_tokens, model_settings, stream_turn
from toolmesh_executor.models.questions import ModelAnswer, ModelQuestion
from toolmesh_executor.models.turns import TurnAnswer, TurnQuestion

__all__ = ["ProviderModels"]

_NO_KEY: Final = "no-key"
"""Sent to servers that want no key: the libraries insist on one."""
_OWN_ADDRESSES: Final = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
"""Without one the libraries take that of their variable, which is not for the keys of the configuration."""
_FROM_VARIABLES: Final = frozenset({"OpenAI-Organization", "OpenAI-Project"})
_MOST_BYTES: Final = 512 * 1024
"""Of an answer."""


class ProviderModels:
    """Models by endpoint; each keeps its connections."""

    def __init__(self) -> None:
        self._models: dict[Endpoint, Model] = {}
        self._closers: list[Callable[[], Awaitable[None]]] = []

    async def prepare(self, endpoint: Endpoint) -> None:
        """Load what a first question needs: no provider has been asked yet."""
        await self._model(endpoint)

    async def ask(self, endpoint: Endpoint, question: ModelQuestion) -> ModelAnswer:
        """Ask once.

        Raises:
            ModelError: there is no answer.
        """
        parts = [UserPromptPart(question.user_prompt)]
        system = [SystemPromptPart(question.system_prompt)] if question.system_prompt else []
        try:
            response = await model_request(
                await self._model(endpoint),
                [ModelRequest(parts=[*system, *parts])],
                model_settings=_settings(endpoint.settings, question),
            )
        except Exception as error:
            raise told(endpoint, error) from error
        return _answer(endpoint, response)

    async def turn(self, endpoint: Endpoint, question: TurnQuestion, on_text: OnText) -> TurnAnswer:
        """Ask once for a turn of a conversation.

        Raises:
            ModelError: there is no whole answer; `on_text` may have had some of it.
        """
        return await stream_turn(await self._model(endpoint), endpoint, question, on_text)

    async def close(self) -> None:
        """Close all connections."""
        for close in self._closers:
            await close()

    async def _model(self, endpoint: Endpoint) -> Model:
        # In a thread, because it takes seconds in which calls and leases must go on.
        sdk, models, providers = await asyncio.to_thread(_libraries, endpoint.dialect)
        if endpoint not in self._models:
            self._models[endpoint] = self._made(endpoint, sdk, models, providers)
        return self._models[endpoint]

    def _made(self, endpoint: Endpoint, sdk: ModuleType, models: ModuleType, providers: ModuleType) -> Model:
        """Make a model whose library tries nothing again: that is done in one place."""
        options: dict[str, Any] = {
            "api_key": endpoint.api_key or _NO_KEY,
            "base_url": endpoint.base_url or _OWN_ADDRESSES[endpoint.dialect],
            "max_retries": 0,
            "default_headers": _headers(endpoint, sdk.Omit),
            # A redirect may lead anywhere, and X-Api-Key would go along.
            "http_client": sdk.DefaultAsyncHttpxClient(follow_redirects=False),
        }
        if endpoint.dialect == "anthropic":
            client = sdk.AsyncAnthropic(**options)
            provider = providers.AnthropicProvider(anthropic_client=client)
            made: Model = models.AnthropicModel(endpoint.model, provider=provider)
        else:
            client = sdk.AsyncOpenAI(**options)
            made = models.OpenAIChatModel(endpoint.model, provider=providers.OpenAIProvider(openai_client=client))
        self._closers.append(client.close)
        return made


def _libraries(dialect: str) -> tuple[ModuleType, ModuleType, ModuleType]:
    """Import a provider's library, and what stands before it."""
    names = (dialect, f"pydantic_ai.models.{dialect}", f"pydantic_ai.providers.{dialect}")
    sdk, models, providers = (importlib.import_module(name) for name in names)
    return sdk, models, providers


def _headers(endpoint: Endpoint, omit: type) -> dict[str, Any]:
    """Return the endpoint's own key, and leave out each header that a library takes from variables of the process.

    They may hold credentials, and the address may stand in an agent's file.
    """
    lines = os.environ.get(f"{endpoint.dialect.upper()}_CUSTOM_HEADERS", "").split("\n")
    named = {line.partition(":")[0].strip() for line in lines if ":" in line}
    key = endpoint.api_key or _NO_KEY
    own = {"X-Api-Key": key} if endpoint.dialect == "anthropic" else {"Authorization": f"Bearer {key}"}
    return {name: omit() for name in named | _FROM_VARIABLES} | own


def _settings(of_agent: Mapping[str, Any], question: ModelQuestion) -> ModelSettings:
    """Return the agent's parameters under the question's own."""
    known = model_settings(of_agent)
    if question.temperature is not None:
        known["temperature"] = question.temperature
    if question.max_tokens is not None:
        known["max_tokens"] = min(question.max_tokens, known.get("max_tokens") or question.max_tokens)
    return known


def _answer(endpoint: Endpoint, response: ModelResponse) -> ModelAnswer:
    """Return what travels on: no half characters, not our key, and no more than the broker takes in one message.

    Raises:
        ModelFailedError: there is no text, or too much.
    """
    if not response.text:
        raise without_text(endpoint, response.finish_reason)
    text = TextCleaner(endpoint).whole(response.text).encode()
    if len(text) > _MOST_BYTES:
        raise ModelFailedError(
            f"the answer of model {endpoint.name!r} has {len(text)} bytes, at most {_MOST_BYTES} are passed on",
            hint="ask for less, or set max_tokens",
        )
    return ModelAnswer(
        text=text.decode(),
        model=endpoint.name,
        input_tokens=believed_tokens(response.usage.input_tokens),
        output_tokens=believed_tokens(response.usage.output_tokens),
        cut=response.finish_reason == "length",
    )
