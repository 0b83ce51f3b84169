"""Ways of calling a worker: as a client does, and as one that checks nothing before it signs and sends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec
from tests.support.signed_calls import invocation, message
from tests.support.worker_mesh import POOL, WorkerMesh

from toolmesh_broker.identities import Executor
from toolmesh_broker.jetstream.broker import connect
from toolmesh_broker.ports import Broker, OutgoingInvocation
from toolmesh_broker.reply_listener import ReceivedResult, ReplyListener
from toolmesh_client import Client
from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.names import Lane
from toolmesh_identity.development import DevelopmentIssuer

CARELESS = "careless"
"""Name of the executor that checks nothing."""
_STORED_S = 120.0


@dataclass(frozen=True)
class Answer:
    """How a call ended; a refusal before it was queued is an answer too."""

    outcome: Outcome
    error: ErrorInfo | None


@dataclass(frozen=True)
class Callers:
    """Both ways over open connections."""

    client: Client
    broker: Broker
    replies: ReplyListener
    issuer: DevelopmentIssuer

    async def call(self, tool: str, arguments: bytes) -> Answer:
        """Call as a client does."""
        try:
            result = await self.client.call(tool, arguments)
        except ToolmeshError as error:
            return Answer(Outcome.ERROR, ErrorInfo(code=error.code, message=error.message))
        return Answer(result.outcome, result.error)

    async def call_carelessly(self, tool: str, arguments: bytes, *, stored: bool) -> Answer:
        """Sign and send these bytes as they are: in the message, or as a stored payload that the message names."""
        if stored:
            call = invocation(tool=tool, executor=CARELESS, required_scopes=(), arguments=msgspec.UNSET)
            payload = await self.broker.payloads(POOL).put(f"{call.id}.arguments", arguments, _STORED_S)
            call = msgspec.structs.replace(call, arguments_payload=payload)
        else:
            call = invocation(
                tool=tool, executor=CARELESS, required_scopes=(), arguments=msgspec.Raw(arguments or b" ")
            )
        signed = message(self.issuer, call, scopes=("*",))
        outgoing = OutgoingInvocation(
            pool=POOL,
            subject=self.broker.subjects.invoke(POOL, Lane.NORMAL, "a", "ada"),
            invocation=call.id,
            body=signed.body,
            deadline_ms=call.deadline_ms,
            headers=signed.headers,
        )
        async with self.replies.expect(POOL, call.id) as replies:
            await self.broker.publish_invocation(outgoing)
            async for news in replies:
                if isinstance(news, ReceivedResult):
                    await news.confirm()
                    return Answer(news.result.outcome, news.result.error)
        raise AssertionError("the replies ended without a result")


@asynccontextmanager
async def callers(mesh: WorkerMesh) -> AsyncIterator[Callers]:
    """Connect the careless executor beside the mesh's client; the mesh has to know it."""
    async with (
        connect(mesh.server.connection(Executor(CARELESS))) as broker,
        ReplyListener.open(broker, CARELESS) as replies,
    ):
        yield Callers(mesh.client, broker, replies, mesh.issuer)


async def within(seconds: float, answer: asyncio.Future[Answer]) -> Answer | None:
    """The answer, or None when there is none in time."""
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        return None
