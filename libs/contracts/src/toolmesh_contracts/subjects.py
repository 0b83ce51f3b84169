"""Where every kind of message lives on the broker: subjects, streams and buckets of one namespace."""

from dataclasses import dataclass
from typing import Final

from toolmesh_contracts.names import (
    SHARD_COUNT,
    Lane,
    join_names,
    shard_of,
    tenant_token,
    token,
    validate_identifier,
    validate_namespace,
    validate_pool,
)

__all__ = ["InvokeSubject", "ReplySubject", "Subjects"]

_ROOT: Final = "tm"
_INVOKE_TOKENS: Final = 7
_REPLY_TOKENS: Final = 6


@dataclass(frozen=True, slots=True)
class InvokeSubject:
    """The parts of an invocation's subject."""

    pool: str
    lane: Lane
    shard: int
    tenant: str


@dataclass(frozen=True, slots=True)
class ReplySubject:
    """The parts of a reply's subject."""

    pool: str
    executor: str
    invocation: str


@dataclass(frozen=True, slots=True)
class Subjects:
    """Names on the broker for one namespace.

    Raises:
        InvalidNameError: the namespace, or a name given to a method, breaks its grammar.
    """

    namespace: str

    def __post_init__(self) -> None:
        validate_namespace(self.namespace)

    # -- subjects

    def _subject(self, *parts: str) -> str:
        return ".".join((_ROOT, self.namespace, *parts))

    def invoke(self, pool: str, lane: Lane, agent: str, user: str) -> str:
        """Return the subject of an invocation; the shard follows from the tenant."""
        tenant = tenant_token(agent, user)
        return self._subject("invoke", validate_pool(pool), lane, str(shard_of(tenant)), tenant)

    def invoke_pool(self, pool: str) -> str:
        """Return the filter of all invocations of a pool."""
        return self._subject("invoke", validate_pool(pool), ">")

    def invoke_shard(self, pool: str, lane: Lane, shard: int) -> str:
        """Return the filter of one consumer: a lane's shard."""
        return self._subject("invoke", validate_pool(pool), lane, str(shard), "*")

    def parse_invoke(self, subject: str) -> InvokeSubject:
        """Split an invocation's subject; ValueError if it is none of this namespace."""
        parts = subject.split(".")
        if len(parts) != _INVOKE_TOKENS or parts[:3] != [_ROOT, self.namespace, "invoke"]:
            raise ValueError(f"{subject!r} is no invocation subject of namespace {self.namespace!r}")
        shard = int(parts[5])
        if not 0 <= shard < SHARD_COUNT:
            raise ValueError(f"{subject!r} names shard {shard}; there are {SHARD_COUNT}")
        return InvokeSubject(pool=parts[3], lane=Lane(parts[4]), shard=shard, tenant=parts[6])

    def reply(self, pool: str, executor: str, invocation: str) -> str:
        """Return where a call's statuses and result go."""
        return self._subject(
            "reply",
            validate_pool(pool),
            validate_identifier("executor", executor),
            validate_identifier("invocation", invocation),
        )

    def replies_to(self, executor: str) -> str:
        """Return the filter of all replies to one executor."""
        return self._subject("reply", "*", validate_identifier("executor", executor), "*")

    def parse_reply(self, subject: str) -> ReplySubject:
        """Split a reply's subject; ValueError if it is none of this namespace."""
        parts = subject.split(".")
        if len(parts) != _REPLY_TOKENS or parts[:3] != [_ROOT, self.namespace, "reply"]:
            raise ValueError(f"{subject!r} is no reply subject of namespace {self.namespace!r}")
        return ReplySubject(pool=parts[3], executor=parts[4], invocation=parts[5])

    def control(self, pool: str, worker: str) -> str:
        """Return where a worker hears of running calls to cancel."""
        return self._subject("control", validate_pool(pool), validate_identifier("worker", worker))

    def direct(self, pool: str, worker: str) -> str:
        """Return where later calls of a declared tool's turn go."""
        return self._subject("direct", validate_pool(pool), validate_identifier("worker", worker))

    def describe(self, pool: str, tool: str) -> str:
        """Return where a tool's schema for a given configuration is asked for."""
        return self._subject("describe", validate_pool(pool), token(tool))

    def describe_pool(self, pool: str) -> str:
        """Return the filter of all such questions to a pool."""
        return self._subject("describe", validate_pool(pool), "*")

    def model(self, pool: str) -> str:
        """Return where a pool's tools send their model calls; the pool is proven by who may publish there."""
        return self._subject("model", validate_pool(pool))

    def mint(self) -> str:
        """Return where a fresh token is asked for."""
        return self._subject("mint")

    def task(self, agent: str) -> str:
        """Return the subject of an agent's tasks."""
        return self._subject("task", token(agent))

    def event(self, task: str) -> str:
        """Return the subject of a task's events."""
        return self._subject("event", validate_identifier("task", task))

    def stop(self, task: str) -> str:
        """Return where the executor that runs a task hears that it has ended by another's hand."""
        return self._subject("stop", validate_identifier("task", task))

    def stops(self) -> str:
        """Return the filter of all of these."""
        return self._subject("stop", "*")

    def schedule(self, schedule: str) -> str:
        """Return the subject of one schedule."""
        return self._subject("schedule", validate_identifier("schedule", schedule))

    def dead_letter(self, pool: str, invocation: str) -> str:
        """Return the subject of one dead letter."""
        return self._subject("dead", validate_pool(pool), token(invocation))

    def dead_pool(self, pool: str) -> str:
        """Return the filter of all dead letters of a pool."""
        return self._subject("dead", validate_pool(pool), "*")

    def all_of(self, family: str) -> str:
        """Return the filter of a whole family, such as `task`."""
        return self._subject(family, ">")

    # -- streams and buckets

    def invoke_stream(self, pool: str) -> str:
        """Return the stream that holds a pool's queued invocations."""
        return join_names("TM", self.namespace, "INVOKE", validate_pool(pool))

    def invoke_consumer(self, lane: Lane, shard: int) -> str:
        """Return the durable consumer of a lane's shard."""
        return f"{lane}-{shard}"

    def task_stream(self) -> str:
        """Return the stream of tasks and schedules."""
        return join_names("TM", self.namespace, "TASKS")

    def event_stream(self) -> str:
        """Return the stream of task events."""
        return join_names("TM", self.namespace, "EVENTS")

    def dead_stream(self, pool: str) -> str:
        """Return the stream of a pool's dead letters."""
        return join_names("TM", self.namespace, "DEAD", validate_pool(pool))

    def ledger_bucket(self) -> str:
        """Return the KV bucket of running and cancelled calls."""
        return join_names("TM", self.namespace, "LEDGER")

    def result_bucket(self) -> str:
        """Return the KV bucket of results that nobody confirmed."""
        return join_names("TM", self.namespace, "RESULTS")

    def catalog_bucket(self) -> str:
        """Return the KV bucket of tools that workers serve."""
        return join_names("TM", self.namespace, "CATALOG")

    def heartbeat_bucket(self) -> str:
        """Return the in-memory KV bucket of worker and executor heartbeats."""
        return join_names("TM", self.namespace, "HEARTBEATS")

    def payload_bucket(self, pool: str) -> str:
        """Return the object store of a pool's large arguments, results and artifacts."""
        return join_names("TM", self.namespace, "PAYLOADS", validate_pool(pool))

    # -- keys

    def call_key(self, pool: str, invocation: str) -> str:
        """Return the ledger's and the results' key of one call."""
        return f"{validate_pool(pool)}.{validate_identifier('invocation', invocation)}"

    def catalog_key(self, pool: str, tool: str, worker: str) -> str:
        """Return the catalog's key of one worker's tool."""
        return f"{validate_pool(pool)}.{token(tool)}.{validate_identifier('worker', worker)}"

    def heartbeat_key(self, pool: str, instance: str) -> str:
        """Return the heartbeat's key of one worker (or of an executor, in pool `_executors`)."""
        return f"{pool}.{validate_identifier('instance', instance)}"

    def inbox_prefix(self, identity: str) -> str:
        """Return the inbox prefix that only this identity may subscribe to."""
        return f"_INBOX.{self.namespace}.{validate_identifier('identity', identity)}"
