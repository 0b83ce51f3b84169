"""The provider libraries behind our own question and answer; importing this module imports them."""

import asyncio
import importlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final, cast
from urllib.parse import urlsplit

import httpx2
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request
from pydantic_ai.messages import FinishReason, ModelRequest, ModelResponse, SystemPromptPart, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from toolmesh_executor.models.endpoints import Endpoint
from toolmesh_executor.models.errors import (
    ModelError,
    ModelFailedError,
    ModelNotConfiguredError,
    ModelUnavailableError,
)
from toolmesh_executor.models.questions import ModelAnswer, ModelQuestion
from toolmesh_telemetry.redaction import Redactor

__all__ = ["ProviderModels"]

_NO_KEY: Final = "no-key"
"""Sent to servers that want no key: the libraries insist on one."""
_OWN_ADDRESSES: Final = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
"""Without one the libraries take that of their variable, which is not for the keys of the configuration."""
_UNDERSTOOD: Final = frozenset(ModelSettings.__annotations__)
_FROM_VARIABLES: Final = frozenset({"OpenAI-Organization", "OpenAI-Project"})
_NOT_REACHED: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_SHOWN: Final = 300
_MOST_BYTES: Final = 512 * 1024
"""Of an answer."""
_MOST_TOKENS: Final = 2**31
"""What a provider may claim that one question took."""


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
            # Answers of a wrong shape end in any exception of the libraries.
            told = _told(endpoint, error)
            told.unreached = any(isinstance(cause, _NOT_REACHED) for cause in _causes(error))
            told.costs_nothing = told.unreached or _is_refusal(error)
            raise told from error
        return _answer(endpoint, response)

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
    """Return the agent's parameters under the question's own; what the library does not know goes into the body."""
    known: dict[str, Any] = {key: value for key, value in of_agent.items() if key in _UNDERSTOOD}
    if further := {key: value for key, value in of_agent.items() if key not in _UNDERSTOOD}:
        known["extra_body"] = {**further, **(known.get("extra_body") or {})}
    if question.temperature is not None:
        known["temperature"] = question.temperature
    if question.max_tokens is not None:
        known["max_tokens"] = min(question.max_tokens, known.get("max_tokens") or question.max_tokens)
    return cast("ModelSettings", known)


def _answer(endpoint: Endpoint, response: ModelResponse) -> ModelAnswer:
    """Return what travels on: no half characters, not our key, and no more than the broker takes in one message.

    Raises:
        ModelFailedError: there is no text, or too much.
    """
    if not response.text:
        raise _without_text(endpoint, response.finish_reason)
    text = _without_secrets(endpoint, response.text).encode(errors="replace")
    if len(text) > _MOST_BYTES:
        raise ModelFailedError(
            f"the answer of model {endpoint.name!r} has {len(text)} bytes, at most {_MOST_BYTES} are passed on",
            hint="ask for less, or set max_tokens",
        )
    return ModelAnswer(
        text=text.decode(),
        model=endpoint.name,
        input_tokens=min(response.usage.input_tokens, _MOST_TOKENS),
        output_tokens=min(response.usage.output_tokens, _MOST_TOKENS),
        cut=response.finish_reason == "length",
    )


def _without_text(endpoint: Endpoint, finish_reason: FinishReason | None) -> ModelFailedError:
    name = f"model {endpoint.name!r}"
    match finish_reason:
        case "content_filter":
            return ModelFailedError(f"{name} did not answer: its provider's filter forbids it", hint="ask differently")
        case "length":
            return ModelFailedError(f"{name} used up its longest answer without a word", hint="raise max_tokens")
        case "tool_call":
            return ModelFailedError(f"{name} called a tool in place of an answer", hint="tell it to answer in words")
    empty = ModelFailedError(f"the answer of {name} has no text", hint="ask again, or ask differently")
    empty.retryable = True
    return empty


def _without_secrets(endpoint: Endpoint, text: str) -> str:
    """A provider may repeat what it was sent; nothing of ours is for the tool or the log."""
    hide = Redactor()
    hide.add(endpoint.api_key, urlsplit(endpoint.base_url or "").password or "")
    return hide.exact(text)


def _told(endpoint: Endpoint, error: Exception) -> ModelError:
    """Return what happened in our own words; the provider's may repeat prompts and keys."""
    name = f"model {endpoint.name!r}"
    if _redirect_status(error) is not None:
        return ModelNotConfiguredError(
            f"the server at the base_url of {name} answered with a redirect ({_redirect_status(error)}), which is not "
            "followed, as the key would go along",
            hint=f"set {endpoint.base_url_place} to the address that answers itself",
        )
    match error:
        case exceptions.ModelAuthenticationError():
            return ModelNotConfiguredError(f"the key for {name} is missing or was refused", hint=_set(endpoint))
        case exceptions.ModelNotFoundError():
            return ModelNotConfiguredError(f"{name} is unknown to its provider", hint="correct its name")
        case exceptions.ModelQuotaExceededError():
            return ModelFailedError(f"the account behind {name} is used up", hint="look at the provider's billing page")
        case exceptions.ModelContextWindowExceededError():
            return ModelFailedError(f"the question is too long for {name}", hint="ask with less text")
        case exceptions.ModelRequestRejectedError():
            return ModelFailedError(f"the provider of {name} refused the question: {_reason(endpoint, error)}")
        case exceptions.ModelRateLimitError():
            return _later(f"the provider of {name} limits the rate", error)
        case exceptions.ModelConnectionError() | exceptions.ModelRequestTimeout():
            return _later(f"the connection to {name} failed", error)
        case exceptions.ModelHTTPError() if error.status_code < 500:
            return ModelFailedError(f"the provider of {name} answered with status {error.status_code}")
        case exceptions.ModelServerError() | exceptions.ModelUnavailableError():
            return _later(f"the provider of {name} has a fault of its own", error)
    return ModelFailedError(f"the answer of {name} can't be used", hint="look whether its address is that of a model")


def _is_refusal(error: Exception) -> bool:
    """Return whether the provider said no before it worked on the question: nobody charges for that."""
    refused = isinstance(error, exceptions.ModelHTTPError) and 400 <= error.status_code < 500
    return refused or _redirect_status(error) is not None


def _redirect_status(error: Exception) -> int | None:
    status = getattr(error.__cause__, "status_code", None)
    return status if isinstance(status, int) and 300 <= status < 400 else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _later(message: str, error: exceptions.ModelAPIError) -> ModelUnavailableError:
    return ModelUnavailableError(message, hint="try again later", retry_after_s=error.retry_after)


def _reason(endpoint: Endpoint, error: exceptions.ModelAPIError) -> str:
    reason = str(error.provider_error_code or error.provider_error_type or "it gave no reason")
    return _without_secrets(endpoint, reason)[:_SHOWN]


def _set(endpoint: Endpoint) -> str:
    return f"set {endpoint.key_place}"
