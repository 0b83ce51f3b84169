"""Asks models. The provider libraries take seconds of CPU to import, so they are loaded for the first question."""

import asyncio
import contextlib
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final

from toolmesh_executor.models.endpoints import Endpoint
from toolmesh_executor.models.errors import ModelError
from toolmesh_executor.models.questions import ModelAnswer, ModelQuestion
from toolmesh_executor.models.retrying import within_budget
from toolmesh_executor.models.turns import TurnAnswer, TurnQuestion
from toolmesh_telemetry.logs import get_logger

if TYPE_CHECKING:
    from toolmesh_executor.models.provider_models import ProviderModels

__all__ = ["ModelClient"]

_log: Final = get_logger(__name__)


class ModelClient:
    """All models of one executor; made by `ModelClient.open`."""

    def __init__(self) -> None:
        self._models: ProviderModels | None = None
        self._loading = asyncio.Lock()

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls) -> AsyncIterator["ModelClient"]:
        """Hand out a client, and close the connections that it made at the end."""
        client = cls()
        try:
            yield client
        finally:
            if client._models is not None:
                await client._models.close()

    async def ask(
        self,
        endpoint: Endpoint,
        question: ModelQuestion,
        budget_s: float,
        around: Callable[[], AbstractAsyncContextManager[None]] = contextlib.nullcontext,
    ) -> ModelAnswer:
        """Ask, again where that may help, for at most `budget_s` seconds.

        Args:
            endpoint: Which model.
            question: What to ask.
            budget_s: Seconds for all attempts and the pauses between them.
            around: Makes what each attempt happens in.

        Raises:
            ModelError: there is no answer, with the reason and what to do next.
        """

        async def attempt() -> ModelAnswer:
            try:
                models = await self._loaded()
                await models.prepare(endpoint)
                async with around():
                    return await models.ask(endpoint, question)
            except ModelError as error:
                _log.warning("a model did not answer", model=endpoint.name, code=error.code, reason=error.message)
                raise

        return await within_budget(attempt, budget_s, f"model {endpoint.name!r}")

    async def turn(
        self,
        endpoint: Endpoint,
        question: TurnQuestion,
        budget_s: float,
        on_text: Callable[[str], Awaitable[None]],
        on_again: Callable[[str], Awaitable[None]],
    ) -> TurnAnswer:
        """Ask for a turn of a conversation, again where that may help, for at most `budget_s` seconds.

        Args:
            endpoint: Which model.
            question: What it is to know.
            budget_s: Seconds for all attempts and the pauses between them.
            on_text: Is told each piece of text as it comes.
            on_again: Is told why, when text that `on_text` had is void and the turn is asked again.

        Raises:
            ModelError: there is no answer, with the reason and what to do next.
        """
        void = ""

        async def attempt() -> TurnAnswer:
            nonlocal void
            heard = False

            async def hear(text: str) -> None:
                nonlocal heard
                heard = True
                await on_text(text)

            if void:
                await on_again(void)
                void = ""
            try:
                return await (await self._loaded()).turn(endpoint, question, hear)
            except ModelError as error:
                void = error.message if heard else ""
                _log.warning("a model did not answer", model=endpoint.name, code=error.code, reason=error.message)
                raise

        return await within_budget(attempt, budget_s, f"model {endpoint.name!r}")

    async def _loaded(self) -> "ProviderModels":
        async with self._loading:
            if self._models is None:
                module = await asyncio.to_thread(importlib.import_module, "toolmesh_executor.models.provider_models")
                self._models = module.ProviderModels()
        return self._models
