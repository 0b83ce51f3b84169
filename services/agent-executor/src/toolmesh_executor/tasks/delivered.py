"""A message of the task queue, read: whose it is comes before what it says."""

from dataclasses import dataclass, field

from toolmesh_broker.ports import Delivery
from toolmesh_contracts.envelopes.task import Task
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.headers import SCHEMA, TASK, TOKEN
from toolmesh_contracts.wire import decode
from toolmesh_executor.dispatch import TokenVerifier
from toolmesh_identity.claims import Claims

__all__ = ["DeliveredTask", "NotAcceptedError", "read_delivery"]


class NotAcceptedError(ToolmeshError):
    """Raised for a message that proves nothing or can't be read.

    Attributes:
        task: Id of the task that it is about, as its header says; empty without one.
    """

    def __init__(self, error: ToolmeshError, task: str) -> None:
        super().__init__(error.message, code=error.code, hint=error.hint)
        self.task = task


@dataclass(frozen=True, slots=True)
class DeliveredTask:
    """Work for an agent, and for whom.

    Attributes:
        task: What it says.
        claims: What its token proves.
    """

    task: Task
    claims: Claims
    token: str = field(repr=False)


def read_delivery(delivery: Delivery, verifier: TokenVerifier) -> DeliveredTask:
    """Verify the token, then read the body.

    Raises:
        NotAcceptedError: the token proves nothing, or the body is none of a task.
    """
    headers = delivery.headers
    token, task_id = headers.get(TOKEN, ""), headers.get(TASK, "")
    try:
        claims = verifier.claims(token)
        return DeliveredTask(decode(Task, delivery.body, headers.get(SCHEMA)), claims, token)
    except ToolmeshError as error:
        raise NotAcceptedError(error, task_id) from error
