"""A worker for tests that follows the wire contract through the broker's ports and runs Python functions as tools.

It knows nothing of the real worker's code: it is the other side of the protocol, written from the contract alone.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolmesh_broker.errors import BrokerError, KeyExistsError
from toolmesh_broker.ports import Broker, Delivery, Message
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_contracts.envelopes.invocation import Cancel, Invocation
from toolmesh_contracts.envelopes.ledger import LedgerEntry, LedgerState
from toolmesh_contracts.envelopes.reply import Confirmation, ErrorInfo, Outcome, Result, Status, StatusState
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.headers import SCHEMA
from toolmesh_contracts.wire import decode, encode, schema_name

CONFIRM_TIMEOUT_S = 2.0
DAY_S = 86_400.0


def catalog_entry(tool: str, *, pool: str = "default", worker: str = "worker-1", **changes: Any) -> CatalogEntry:
    """A catalog entry with plausible values; `changes` replace some."""
    entry = CatalogEntry(
        tool=tool,
        pool=pool,
        worker=worker,
        version="v1",
        discovered_ms=1,
        description=f"The tool {tool}.",
        parameters=msgspec.Raw(b'{"type":"object"}'),
        timeout_ms=30_000,
    )
    return msgspec.structs.replace(entry, **changes)


@dataclass
class Job:
    """One run of a tool, as its function sees it."""

    invocation: Invocation
    headers: Mapping[str, str]
    attempt: int
    worker: "ScriptedWorker"
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    seq: int = 0

    @property
    def arguments(self) -> Any:
        """The arguments that came inline."""
        assert not isinstance(self.invocation.arguments, msgspec.UnsetType)
        return msgspec.json.decode(self.invocation.arguments)

    async def status(self, text: str, state: StatusState = StatusState.PROGRESS) -> None:
        """Sends one status."""
        message = Status(
            invocation=self.invocation.id,
            attempt=self.attempt,
            seq=self.next_seq(),
            state=state,
            worker=self.worker.name,
            text=text,
            at_ms=int(time.time() * 1000),
        )
        await self.worker.reply(self.invocation, message)

    def next_seq(self) -> int:
        """The next sequence number of this attempt."""
        self.seq += 1
        return self.seq

    def ok(self, data: Any = None, message: str = "", **more: Any) -> Result:
        """A successful result with `data` as its value."""
        raw = msgspec.UNSET if data is None else msgspec.Raw(msgspec.json.encode(data))
        return self.result(Outcome.OK, message=message, data=raw, **more)

    def error(self, code: ErrorCode, message: str) -> Result:
        """An error result."""
        return self.result(Outcome.ERROR, message=message, error=ErrorInfo(code=code, message=message))

    def result(self, outcome: Outcome, **more: Any) -> Result:
        """Any result of this attempt."""
        return Result(
            invocation=self.invocation.id,
            attempt=self.attempt,
            seq=self.next_seq(),
            tool=self.invocation.tool,
            worker=self.worker.name,
            outcome=outcome,
            **more,
        )


Behaviour = Callable[[Job], Awaitable[Result]]


async def echo(job: Job) -> Result:
    """Returns the arguments."""
    return job.ok(job.arguments)


async def until_cancelled(job: Job) -> Result:
    """Runs until a cancel arrives."""
    await job.cancelled.wait()
    return job.error(ErrorCode.CANCELLED, "stopped on request")


class ScriptedWorker:
    """Pulls invocations of one pool and answers them; `crash` ends it as kill -9 would."""

    def __init__(self, broker: Broker, tools: Mapping[str, Behaviour], *, name: str, pool: str, slots: int) -> None:
        self.broker = broker
        self.tools = dict(tools)
        self.name = name
        self.pool = pool
        self.slots = slots
        self.taken: list[str] = []
        self.confirmed: list[str] = []
        self.stored: list[str] = []
        self.skipped: list[str] = []
        self.failures: list[BaseException] = []
        """What ended the handling of a call, such as an ack that the broker never confirmed."""
        self.lease_s = 6.0
        self.renew_every_s = 0.2
        self.deaf = 0
        """How many of the next cancel messages get lost."""
        self._running: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ledger = broker.keyvalue(broker.subjects.ledger_bucket())
        self._results = broker.keyvalue(broker.subjects.result_bucket())

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the calls that run now."""
        return tuple(self._running)

    # -- life

    async def pull(self) -> None:
        """Takes calls for ever."""
        async with self.broker.consume(self.pool, lambda: self.slots - len(self._running)) as intake:
            async for delivery in intake:
                task = asyncio.create_task(self._handle(delivery))
                self._tasks.add(task)
                task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(error)

    async def crash(self) -> None:
        """Stops everything at once: nothing is answered, acked or released."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def control(self, message: Message) -> None:
        """Hears of calls to cancel."""
        if self.deaf:
            self.deaf -= 1
            return
        cancel = decode(Cancel, message.body)
        if job := self._running.get(cancel.invocation):
            job.cancelled.set()

    async def publish_catalog(self, entries: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Shows the tools, each with changes to its entry."""
        catalog = self.broker.keyvalue(self.broker.subjects.catalog_bucket())
        for tool in self.tools:
            entry = catalog_entry(tool, pool=self.pool, worker=self.name, **(entries or {}).get(tool, {}))
            key = self.broker.subjects.catalog_key(self.pool, tool, self.name)
            await catalog.put(key, encode(entry), 60.0)

    # -- one call

    async def _handle(self, delivery: Delivery) -> None:
        invocation = decode(Invocation, delivery.body, delivery.headers[SCHEMA])
        key = self.broker.subjects.call_key(self.pool, invocation.id)
        lease = self._lease(invocation)
        try:
            revision = await self._ledger.create(key, encode(lease), DAY_S)
        except KeyExistsError:
            # Cancelled or run before; redelivery of running calls is the real worker's business.
            self.skipped.append(invocation.id)
            await delivery.ack()
            return
        job = Job(invocation, delivery.headers, 1, self)
        self._running[invocation.id] = job
        self.taken.append(invocation.id)
        try:
            async with asyncio.TaskGroup() as group:
                renewing = group.create_task(self._renew(key, invocation, revision, delivery))
                await job.status("", StatusState.STARTED)
                result = await self.tools[invocation.tool](job)
                await self.deliver(invocation, result)
                renewing.cancel()
            await delivery.ack()
        finally:
            del self._running[invocation.id]

    async def _renew(self, key: str, invocation: Invocation, revision: int, delivery: Delivery) -> None:
        while True:
            await asyncio.sleep(self.renew_every_s)
            with contextlib.suppress(BrokerError):
                revision = await self._ledger.update(key, encode(self._lease(invocation)), revision, DAY_S)
                await delivery.in_progress()

    def _lease(self, invocation: Invocation) -> LedgerEntry:
        return LedgerEntry(
            state=LedgerState.RUNNING,
            attempt=1,
            worker=self.name,
            lease_until_ms=int((time.time() + self.lease_s) * 1000),
            deadline_ms=invocation.deadline_ms,
        )

    # -- replies

    async def reply(self, invocation: Invocation, message: msgspec.Struct) -> None:
        """Sends a status, lossy."""
        subject = self.broker.subjects.reply(self.pool, invocation.executor, invocation.id)
        with contextlib.suppress(BrokerError):
            await self.broker.publish(subject, encode(message), {SCHEMA: schema_name(type(message))})

    async def deliver(self, invocation: Invocation, result: Result) -> bool:
        """Confirm or store; says whether it was confirmed."""
        if await self.offer(invocation, result):
            self.confirmed.append(invocation.id)
            return True
        await self.store(invocation, result)
        return False

    async def offer(self, invocation: Invocation, result: Result) -> bool:
        """Sends a result as a request and says whether the executor confirmed it."""
        subject = self.broker.subjects.reply(self.pool, invocation.executor, invocation.id)
        try:
            answer = await self.broker.request(
                subject, encode(result), CONFIRM_TIMEOUT_S, {SCHEMA: schema_name(Result)}
            )
        except BrokerError:
            return False
        return decode(Confirmation, answer.body).accepted

    async def store(self, invocation: Invocation, result: Result) -> None:
        """Stores a result for whoever looks it up; the first one stays."""
        key = self.broker.subjects.call_key(self.pool, invocation.id)
        with contextlib.suppress(KeyExistsError):
            await self._results.create(key, encode(result), DAY_S)
            self.stored.append(invocation.id)


@contextlib.asynccontextmanager
async def scripted_worker(
    broker: Broker,
    tools: Mapping[str, Behaviour],
    *,
    name: str = "worker-1",
    pool: str = "default",
    slots: int = 8,
    entries: Mapping[str, Mapping[str, Any]] | None = None,
) -> AsyncIterator[ScriptedWorker]:
    """A running worker whose tools are in the catalog."""
    worker = ScriptedWorker(broker, tools, name=name, pool=pool, slots=slots)
    await worker.publish_catalog(entries)
    async with broker.subscribe(broker.subjects.control(pool, name), worker.control):
        pulling = asyncio.create_task(worker.pull())
        try:
            yield worker
        finally:
            pulling.cancel()
            await asyncio.gather(pulling, return_exceptions=True)
            await worker.crash()
