"""A whole mesh on one virtual clock, and the promises that must hold in it at every moment."""

import asyncio
import itertools
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec
from tests.protocol.network import InFlight, Network, NetworkBroker, Site
from tests.protocol.processes import TOOLS, CallRecord, Effect, ExecutorProcess, WorkerProcess, entry_of, site_of_tasks
from tests.protocol.virtual_time import VirtualLoop
from tests.support.tool_client import NAMESPACE, client_settings

from toolmesh_broker.ledger import Ledger
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.ports import Entry, OutgoingInvocation
from toolmesh_client import Patience
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.ledger import LedgerEntry, LedgerState
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.subjects import Subjects
from toolmesh_contracts.wire import decode, encode
from toolmesh_identity.development import DevelopmentIssuer
from toolmesh_runtime.admission import Verifier

__all__ = ["Mesh", "PromiseBrokenError"]

_END_S: Final = 120.0
"""So long after the last fault every call has ended: its deadline, its grace and the longest ack_wait are over."""

_CANCELS: Final = 3
"""Code that cleans up waits anew, and is cancelled again."""


class PromiseBrokenError(AssertionError):
    """A promise did not hold."""


class Mesh:
    """Processes, the broker's twin, and a record of all that happened.

    Args:
        folder: For keys.
        hub: The broker's twin.
        ledger: What workers take their calls from.
    """

    def __init__(self, folder: Path, hub: MemoryHub, ledger: type[Ledger] = Ledger) -> None:
        self.loop = VirtualLoop()
        self.loop.set_task_factory(site_of_tasks)  # type: ignore[arg-type]  # typeshed wants every keyword spelled out
        self.network = Network()
        self.calls: list[CallRecord] = []
        self.workers: list[WorkerProcess] = []
        self.steps_at_death: Counter[str] = Counter()
        self._effects: list[Effect] = []
        self._lost: list[str] = []
        self._history: dict[str, list[LedgerEntry]] = {}
        self._hub = hub
        self._ledger = ledger
        self._subjects = Subjects(NAMESPACE)
        self._sites = 0
        issuer = DevelopmentIssuer.create_or_load(folder / "keys")
        self._settings = client_settings(folder, patience=Patience())
        self._verifier = Verifier(
            namespace=NAMESPACE,
            pool="default",
            issuer=issuer.name,
            issuer_keys=issuer.issuer_public_keys(),
            executor_keys=issuer.executor_public_keys(),
            sealing_keys=issuer.sealing_keys("default"),
        )
        self._watching = self.loop.create_task(self._watch_ledger())
        for tool in TOOLS:
            self.loop.create_task(
                hub.bucket(self._subjects.catalog_bucket()).put(
                    self._subjects.catalog_key("default", tool, "any"), encode(entry_of(tool))
                )
            )
        self.settle()
        self.executor = self._new_executor()
        self.start_worker()

    # -- what a test may do

    def settle(self) -> None:
        """Let all processes go on until they wait."""
        self.loop.settle()

    def start_worker(self) -> None:
        """Start one more worker."""
        site = self._site("worker")
        self.workers.append(
            WorkerProcess(self.loop, self._broker(site), site, self._verifier, self._ledger, self._effects.append)
        )
        self.settle()

    def kill(self, site: Site) -> None:
        """End it as kill -9 does; an executor is replaced by one that goes on with what the dead one left open."""
        if site.dead:
            return
        self._kill(site)
        self.workers = [worker for worker in self.workers if worker.site is not site]
        if self.executor.site is site:
            self.executor = self._new_executor()
            self._resume_orphans()

    def drain_worker(self, worker: WorkerProcess) -> None:
        """SIGTERM; it ends in its own time."""
        self.workers.remove(worker)
        worker.drain()
        self.settle()

    def call(self, tool: str) -> None:
        """Make a call."""
        record = CallRecord(len(self.calls), tool)
        self.calls.append(record)
        self.executor.call(record)
        self.settle()

    def cancel(self, record: CallRecord) -> None:
        """Cancel a call."""
        self.executor.cancel(record)
        self.settle()

    def deliver(self, message: InFlight, *, answered: bool = True) -> None:
        """Let one message arrive."""
        self.network.deliver(message, self.loop, answered=answered)
        self.settle()
        self._resume_orphans()

    def pass_time(self, seconds: float) -> None:
        """Let time pass while no message arrives."""
        self.loop.pass_time(seconds)

    def finish(self) -> None:
        """Let everything arrive, in order and with a worker that lives, until all has ended."""
        self.start_worker()
        end = self.loop.time() + _END_S
        while self.loop.time() < end:
            while self.network.in_flight:
                self.deliver(self.network.in_flight[0])
            self.pass_time(0.5)

    def close(self) -> None:
        """End all processes."""
        self._hub.timers.cancel_all()
        for _ in range(_CANCELS):
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.settle()
        self.loop.close()

    # -- promises

    def check(self) -> None:
        """Raise PromiseBrokenError for what must hold at every moment."""
        for lost in self._lost:
            raise PromiseBrokenError(lost)
        for record in self.calls:
            if len(record.results) > 1:
                raise PromiseBrokenError(f"call {record.number} has {len(record.results)} results")
            if record.outgoing is not None:
                self._check_effects(record, record.outgoing.invocation)
        for key, entries in self._history.items():
            for before, after in itertools.pairwise(entries):
                if after.attempt < before.attempt:
                    raise PromiseBrokenError(f"call {key} fell back from attempt {before.attempt} to {after.attempt}")
                if before.state is LedgerState.CANCELLED and after.state is LedgerState.RUNNING:
                    raise PromiseBrokenError(f"call {key} runs although it was cancelled")

    def check_end(self) -> None:
        """Raise PromiseBrokenError for what must hold once all has ended."""
        self.check()
        for record in self.calls:
            if record.outgoing is not None and record.open:
                raise PromiseBrokenError(f"accepted call {record.number} has no result: it is lost")
            if record.results:
                self._check_result(record)
        if left := len(self._hub.queue(self._subjects.invoke_stream("default"))):
            raise PromiseBrokenError(f"{left} calls stay in the queue")

    def _check_effects(self, record: CallRecord, invocation: str) -> None:
        happened = [effect for effect in self._effects if effect.invocation == invocation]
        if len(happened) > TOOLS[record.tool].max_attempts:
            raise PromiseBrokenError(f"call {record.number} of tool {record.tool} ran too often: {happened}")

    def _check_result(self, record: CallRecord) -> None:
        result = record.results[0]
        happened = [effect for effect in self._effects if effect.invocation == result.invocation]
        if result.ok and not any(effect.attempt == result.attempt for effect in happened):
            raise PromiseBrokenError(f"call {record.number} succeeded in an attempt that did nothing")
        if result.message.endswith("did not run") and happened:
            raise PromiseBrokenError(f"call {record.number} is said not to have run, but did: {happened}")
        if result.error is not None and result.error.code is ErrorCode.WORKER_LOST:
            key = self._subjects.call_key("default", result.invocation)
            if not any(entry.attempt for entry in self._history.get(key, ())):
                raise PromiseBrokenError(f"call {record.number} is told lost, but no worker ever had it")

    # -- what the broker sees; see Witness

    def accepted(self, call: OutgoingInvocation) -> None:
        """Note that a call is in the queue."""
        arguments = decode(Invocation, call.body).arguments
        assert not isinstance(arguments, msgspec.UnsetType)
        record = self.calls[msgspec.json.decode(arguments)["number"]]
        record.outgoing = call

    async def left(self, invocation: str) -> None:
        """Note a call that leaves the queue without its result in a safe place."""
        record = next(one for one in self.calls if one.outgoing and one.outgoing.invocation == invocation)
        results = self._hub.bucket(self._subjects.result_bucket())
        if record.open and await results.get(self._subjects.call_key("default", invocation)) is None:
            self._lost.append(f"call {record.number} leaves the queue, and its result is nowhere")

    # -- internals

    def _site(self, kind: str) -> Site:
        self._sites += 1
        return Site(f"{kind}-{self._sites}")

    def _broker(self, site: Site) -> NetworkBroker:
        return NetworkBroker(self._hub, self.network, site, self)

    def _new_executor(self) -> ExecutorProcess:
        site = self._site("executor")
        executor = ExecutorProcess(self.loop, self._broker(site), site, self._settings)
        self.settle()
        return executor

    def _resume_orphans(self) -> None:
        for record in self.calls:
            if record.outgoing is not None and record.open and record.owner is not None and record.owner.dead:
                self.executor.resume(record)
        self.settle()

    def _kill(self, site: Site) -> None:
        kind = site.name.partition("-")[0]
        for message in self.network.in_flight:
            if message.site is site:
                self.steps_at_death[f"{kind} dies at: {message.step}"] += 1
        for _ in range(_CANCELS):
            site.kill()
            self.settle()
        assert not site.tasks

    async def _watch_ledger(self) -> None:
        async with self._hub.bucket(self._subjects.ledger_bucket()).watch() as changes:
            async for change in changes:
                if isinstance(change, Entry):
                    self._history.setdefault(change.key, []).append(decode(LedgerEntry, change.value))
