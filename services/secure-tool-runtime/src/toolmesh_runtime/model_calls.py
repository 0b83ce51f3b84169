"""Passes a tool's questions to the model over the broker: workers hold no provider key."""

import time
from dataclasses import dataclass
from typing import Final

from toolmesh_broker.errors import BrokerError, BrokerTimeoutError, NoRespondersError
from toolmesh_broker.ports import Broker
from toolmesh_contracts.envelopes.services import ModelReply, ModelRequest
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.headers import SCHEMA
from toolmesh_contracts.wire import decode, encode, schema_name
from toolmesh_runtime.process.model_lines import ModelQuestion, ModelRefusedError

__all__ = ["ModelCalls"]

_LONGEST_S: Final = 110.0
"""Less than the 120 s after which our SDK gives up, so that the tool hears why."""
_MARGIN_S: Final = 0.5
"""So long before the tool itself is stopped its question ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalls:
    """The model, for one attempt of one call; its use is charged to the call's task.

    Attributes:
        ends_at: `time.time()` at which the tool will be stopped.
    """

    broker: Broker
    pool: str
    worker: str
    invocation: str
    attempt: int
    ends_at: float

    async def ask(self, question: ModelQuestion) -> str:
        """Return the model's text.

        Raises:
            ModelRefusedError: there is no model, it refused, or did not answer in time.
        """
        limit_s = min(_LONGEST_S, self.ends_at - _MARGIN_S - time.time())
        if limit_s <= 0:
            raise ModelRefusedError("no time is left for a model call")
        request = ModelRequest(
            invocation=self.invocation,
            attempt=self.attempt,
            worker=self.worker,
            system_prompt=question.system_prompt,
            user_prompt=question.user_prompt,
            temperature=question.temperature,
            deadline_ms=int((time.time() + limit_s) * 1000),
        )
        headers = {SCHEMA: schema_name(ModelRequest)}
        try:
            subject = self.broker.subjects.model(self.pool)
            answer = await self.broker.request(subject, encode(request), limit_s, headers)
            reply = decode(ModelReply, answer.body)
        except NoRespondersError as error:
            raise ModelRefusedError("no model is configured for tools") from error
        except BrokerTimeoutError as error:
            raise ModelRefusedError(f"the model did not answer within {limit_s:.0f} s") from error
        except BrokerError as error:
            raise ModelRefusedError(f"the model can't be reached: {error.message}") from error
        except ToolmeshError as error:
            raise ModelRefusedError("the model's answer can't be read") from error
        if reply.text is None:
            reason = reply.message or "no reason was given"
            raise ModelRefusedError(f"the model refused: {reason}" + (f" ({reply.code})" if reply.code else ""))
        return reply.text
