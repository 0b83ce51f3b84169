"""Ways of calling a worker: as a client does, and as one that checks nothing before it signs and sends."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec
from tests.support.signed_calls import invocation, message
from tests.support.worker_mesh import POOL, WorkerMesh

from toolmesh_broker.identities import Executor
from toolmesh_broker.jetstream.api import ApiError, api_request
from toolmesh_broker.jetstream.broker import connect
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.ports import Broker, OutgoingInvocation, PublishReceipt
from toolmesh_broker.reply_listener import PendingCall, ReceivedResult, ReplyListener
from toolmesh_client import Client
from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome
from toolmesh_contracts.envelopes.task import DeadLetter
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.names import Lane
from toolmesh_contracts.wire import decode
from toolmesh_identity.development import DevelopmentIssuer

CARELESS = "careless"
"""Name of the executor that checks nothing."""
_STORED_S = 120.0
_LOOK_S = 0.1


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
    admin: Connection
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
            receipt = await self.broker.publish_invocation(outgoing)
            answers = {asyncio.create_task(_replied(replies)), asyncio.create_task(self._buried(receipt))}
            try:
                done, _ = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
                return done.pop().result()
            finally:
                for answer in answers:
                    answer.cancel()
                await asyncio.wait(answers)

    async def _buried(self, receipt: PublishReceipt) -> Answer:
        """What a dead letter says: the only answer to a message in which nobody can read whom to answer."""
        subjects = self.admin.subjects
        wanted = {"last_by_subj": subjects.dead_letter(POOL, f"unknown-{receipt.sequence}")}
        while True:
            try:
                found = await api_request(self.admin, f"STREAM.MSG.GET.{subjects.dead_stream(POOL)}", wanted)
            except ApiError:
                await asyncio.sleep(_LOOK_S)
                continue
            letter = decode(DeadLetter, base64.b64decode(found["message"]["data"]))
            return Answer(Outcome.ERROR, ErrorInfo(code=letter.code, message=letter.reason))


async def _replied(replies: PendingCall) -> Answer:
    async for news in replies:
        if isinstance(news, ReceivedResult):
            await news.confirm()
            return Answer(news.result.outcome, news.result.error)
    raise AssertionError("the replies ended without a result")


@asynccontextmanager
async def callers(mesh: WorkerMesh, admin: Connection) -> AsyncIterator[Callers]:
    """Connect the careless executor beside the mesh's client; the mesh has to know it."""
    async with (
        connect(mesh.server.connection(Executor(CARELESS))) as broker,
        ReplyListener.open(broker, CARELESS) as replies,
    ):
        yield Callers(mesh.client, broker, replies, admin, mesh.issuer)
