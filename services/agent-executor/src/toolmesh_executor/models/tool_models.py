"""Answers what tools ask of models, on `tm.<ns>.model.<pool>`: proven, bounded, counted and charged to its call."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from toolmesh_broker.ports import Broker, Handler, Message
from toolmesh_contracts.envelopes.services import ModelReply, ModelRequest
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.model_config import ToolModelLimits
from toolmesh_contracts.wire import decode, encode
from toolmesh_executor.models.allowances import Allowances
from toolmesh_executor.models.call_proof import CallVerifier, ProvenCall, UnprovenCallError
from toolmesh_executor.models.choice import ModelChoice
from toolmesh_executor.models.client import ModelClient
from toolmesh_executor.models.endpoints import Endpoints
from toolmesh_executor.models.errors import ModelError
from toolmesh_executor.models.places import Places
from toolmesh_executor.models.questions import ModelAnswer, ModelQuestion
from toolmesh_telemetry.logs import get_logger

__all__ = ["OnAnswered", "ToolModels"]

_log: Final = get_logger(__name__)
_QUEUE: Final = "models"
"""The executors that serve a pool share its questions."""
_ANSWERED_BEFORE_S: Final = 0.2
"""So long before the worker gives up, it is told why."""

OnAnswered = Callable[[str, str, int, int], None]
"""Takes the agent, `ok` or an error code, and the tokens in and out."""


class ToolModels:
    """Answers questions; one object for all pools of an executor.

    Args:
        verifier: Decides whose questions are answered.
        choice: Which model answers.
        endpoints: Where that is.
        client: Asks it.
        limits: What tools may ask.
        on_answered: Told of every question of a proven call.
    """

    def __init__(
        self,
        *,
        verifier: CallVerifier,
        choice: ModelChoice,
        endpoints: Endpoints,
        client: ModelClient,
        limits: ToolModelLimits,
        on_answered: OnAnswered,
    ) -> None:
        self._verifier = verifier
        self._choice = choice
        self._endpoints = endpoints
        self._client = client
        self._limits = limits
        self._on_answered = on_answered
        self._allowances = Allowances(limits)
        self._places = Places(limits.concurrency)
        self._answering: set[asyncio.Task[ModelReply]] = set()
        self._stopping = False

    @contextlib.asynccontextmanager
    async def answering(self, broker: Broker, pools: Iterable[str]) -> AsyncIterator[None]:
        """Answer the questions of these pools' tools until the block ends."""
        async with contextlib.AsyncExitStack() as stack:
            for pool in pools:
                handler = self._handler(pool)
                await stack.enter_async_context(broker.subscribe(broker.subjects.model(pool), handler, queue=_QUEUE))
            try:
                yield
            finally:
                self._stopping = True
                asked = tuple(self._answering)
                for task in asked:
                    task.cancel()
                await asyncio.gather(*asked, return_exceptions=True)

    def _handler(self, pool: str) -> Handler:
        async def handle(message: Message) -> None:
            await message.respond(encode(await self._reply(pool, message)))

        return handle

    async def _reply(self, pool: str, message: Message) -> ModelReply:
        try:
            call = self._verifier.prove(message.headers, pool, time.time())
            request = decode(ModelRequest, message.body)
            if request.invocation != call.invocation:
                raise UnprovenCallError("the request is about another call than its headers")
        except ToolmeshError as error:
            _log.warning("a model request was refused", pool=pool, code=error.code, reason=error.message)
            return ModelReply(code=error.code, message=error.message)
        return await self._until_stopped(pool, call, request)

    async def _until_stopped(self, pool: str, call: ProvenCall, request: ModelRequest) -> ModelReply:
        stopped = ModelReply(code=ErrorCode.MODEL_UNAVAILABLE, message="the executor is stopping", retryable=True)
        if self._stopping:
            return stopped
        task = asyncio.create_task(self._answered(pool, call, request))
        self._answering.add(task)
        try:
            await asyncio.wait({task})
        finally:
            self._answering.discard(task)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return stopped if task.cancelled() else task.result()

    async def _answered(self, pool: str, call: ProvenCall, request: ModelRequest) -> ModelReply:
        code: str = "ok"
        answer = None
        try:
            answer = await self._ask(pool, call, request)
            reply = ModelReply(
                text=answer.text,
                model=answer.model,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
            )
        except ToolmeshError as error:
            code = error.code
            retryable = isinstance(error, ModelError) and error.retryable
            reply = ModelReply(code=error.code, message=str(error), retryable=retryable)
        except Exception:  # noqa: BLE001 - top handler of a question: one that fails must not end the others
            _log.exception("a question failed in a way nobody foresaw", invocation=call.invocation)
            code = ErrorCode.INTERNAL_ERROR
            reply = ModelReply(code=ErrorCode.INTERNAL_ERROR, message="the executor failed; its log has the details")
        agent = call.agent if call.agent in self._choice.agents else ""
        self._on_answered(agent, code, reply.input_tokens, reply.output_tokens)
        _log.info(
            "a tool asked a model",
            invocation=call.invocation,
            user=call.claims.subject,
            agent=call.agent,
            model=reply.model,
            outcome=code,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
        )
        return reply

    async def _ask(self, pool: str, call: ProvenCall, request: ModelRequest) -> ModelAnswer:
        endpoint = self._endpoints.of(self._choice.choose(call.agent, request.model))
        max_tokens = min(request.max_tokens or self._limits.max_output_tokens, self._limits.max_output_tokens)
        prompts = request.system_prompt + request.user_prompt
        question = ModelQuestion(
            system_prompt=request.system_prompt,
            user_prompt=request.user_prompt,
            temperature=request.temperature,
            max_tokens=max_tokens,
        )
        ends_at = min(request.deadline_ms, call.deadline_ms) / 1000 - _ANSWERED_BEFORE_S
        counted = self._allowances.question(pool, call.invocation, call.deadline_ms, prompts, max_tokens)
        with counted as reservation:

            @contextlib.asynccontextmanager
            async def around() -> AsyncIterator[None]:
                # For each attempt, so that nobody has a place while it pauses.
                async with self._places.held(pool, call.invocation, ends_at - _ANSWERED_BEFORE_S):
                    with reservation.attempt():
                        yield

            answer = await self._client.ask(endpoint, question, max(0.0, ends_at - time.time()), around)
            reservation.settle(answer.input_tokens + answer.output_tokens)
        return answer
