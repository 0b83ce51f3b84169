"""What went wrong with a provider, in our own words: its own may repeat prompts and keys."""

import re
from collections.abc import Iterator
from typing import Final

import httpx2
from pydantic_ai import exceptions
from pydantic_ai.messages import FinishReason

from toolmesh_executor.models.clean_text import TextCleaner
from toolmesh_executor.models.endpoints import Endpoint
from toolmesh_executor.models.errors import (
    ModelError,
    ModelFailedError,
    ModelNotConfiguredError,
    ModelUnavailableError,
    QuestionTooLongError,
)

__all__ = ["told", "without_text"]

_NOT_REACHED: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_SHOWN: Final = 300
_TOO_LONG: Final = re.compile(r"exceed context limit|exceed_context_size_error|context size has been exceeded", re.I)
"""How Anthropic (when no room is left for max_tokens) and llama.cpp say it, which the library does not know."""


def told(endpoint: Endpoint, error: Exception) -> ModelError:
    """Return what any exception of the provider libraries means; answers of a wrong shape end in any of them."""
    made = _told(endpoint, error)
    made.unreached = any(isinstance(cause, _NOT_REACHED) for cause in _causes(error))
    made.costs_nothing = made.unreached or _is_refusal(error)
    return made


def without_text(endpoint: Endpoint, finish_reason: FinishReason | None) -> ModelFailedError:
    """Return what an answer without text means."""
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


def _told(endpoint: Endpoint, error: Exception) -> ModelError:
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
            return _too_long(name)
        case exceptions.ModelHTTPError() if _TOO_LONG.search(str(error.body)):
            return _too_long(name)
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


def _too_long(name: str) -> QuestionTooLongError:
    return QuestionTooLongError(f"the question is too long for {name}", hint="ask with less text")


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
    return TextCleaner(endpoint).whole(reason)[:_SHOWN]


def _set(endpoint: Endpoint) -> str:
    return f"set {endpoint.key_place}"
