"""Passes a tool's questions to the model over the broker: workers hold no provider key."""

import time
from dataclasses import dataclass, field
from typing import Final

from toolmesh_broker.errors import BrokerError, BrokerTimeoutError, NoRespondersError
from toolmesh_broker.ports import Broker
from toolmesh_contracts.envelopes.services import ModelReply, ModelRequest
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.headers import BODY_SHA256
from toolmesh_contracts.model_config import LONGEST_MODEL_ANSWER_S
from toolmesh_contracts.wire import decode, encode, schema_name
from toolmesh_runtime.admission import AdmittedCall
from toolmesh_runtime.process.model_lines import ModelAnswer, ModelQuestion, ModelRefusedError

__all__ = ["ModelCalls", "ModelUsage"]

_MARGIN_S: Final = 0.5
"""So long before the tool itself is stopped its question ends."""


@dataclass(slots=True)
class ModelUsage:
    """What the questions of one attempt took."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalls:
    """The model, for one attempt of one call; its use is charged to the call's task.

    Attributes:
        call: The call, whose headers prove to who answers that it may ask.
        ends_at: `time.time()` at which the tool will be stopped.
        usage: What was used so far.
    """

    broker: Broker
    call: AdmittedCall
    worker: str
    attempt: int
    ends_at: float
    usage: ModelUsage = field(default_factory=ModelUsage)

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        """Return the model's answer.

        Raises:
            ModelRefusedError: there is no model, it refused, or did not answer in time.
        """
        limit_s = min(
            question.timeout_s or LONGEST_MODEL_ANSWER_S,
            LONGEST_MODEL_ANSWER_S,
            self.ends_at - _MARGIN_S - time.time(),
        )
        if limit_s <= 0:
            raise ModelRefusedError("no time is left for a model call")
        reply = await self._reply(question, limit_s)
        if reply.text is None:
            reason = reply.message or "no reason was given"
            told = f"the model refused: {reason}" + (f" ({reply.code})" if reply.code else "")
            raise ModelRefusedError(told, retryable=reply.retryable)
        self.usage.calls += 1
        self.usage.input_tokens += reply.input_tokens
        self.usage.output_tokens += reply.output_tokens
        return ModelAnswer(reply.text, reply.model, reply.input_tokens, reply.output_tokens)

    async def _reply(self, question: ModelQuestion, limit_s: float) -> ModelReply:
        invocation = self.call.invocation
        request = ModelRequest(
            invocation=invocation.id,
            attempt=self.attempt,
            worker=self.worker,
            system_prompt=question.system_prompt,
            user_prompt=question.user_prompt,
            temperature=question.temperature,
            deadline_ms=int((time.time() + limit_s) * 1000),
            model=question.model,
            max_tokens=question.max_tokens,
        )
        headers = self.call.headers.to_headers(schema_name(ModelRequest)) | {BODY_SHA256: self.call.body_sha256}
        try:
            subject = self.broker.subjects.model(invocation.pool)
            answer = await self.broker.request(subject, encode(request), limit_s, headers)
            return decode(ModelReply, answer.body)
        except NoRespondersError as error:
            message = "no model can be asked: no executor answers for this pool now"
            raise ModelRefusedError(message, retryable=True) from error
        except BrokerTimeoutError as error:
            raise ModelRefusedError(f"the model did not answer within {limit_s:.0f} s", retryable=True) from error
        except BrokerError as error:
            raise ModelRefusedError(f"the model can't be reached: {error.message}", retryable=True) from error
        except ToolmeshError as error:
            raise ModelRefusedError("the model's answer can't be read") from error
