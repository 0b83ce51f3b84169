"""The subjects that each identity may publish to and subscribe to; pure data, and as little as its work needs.

The JetStream API's subjects are those of the server's design documents (ADR-1, ADR-8, ADR-13, ADR-20, ADR-31).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from toolmesh_broker.identities import (
    EXECUTOR_ACCOUNT,
    STREAM_ACCOUNT,
    Executor,
    Identity,
    Operator,
    Provisioner,
    Worker,
    pool_account,
)
from toolmesh_contracts.subjects import Subjects

__all__ = ["Permissions", "Request", "executor_requests", "operator_requests", "permissions_for", "worker_requests"]

_API: Final = "$JS.API"
_ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Request:
    """A subject, or a filter of some, that an identity sends to."""

    subject: str
    owner: str = STREAM_ACCOUNT
    """Account in which someone listens."""
    many_answers: bool = False
    """Whether one request may get more than one answer."""


@dataclass(frozen=True, slots=True)
class Permissions:
    """What one identity may do. Whatever is not listed is denied."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    may_answer: bool
    """Whether it may answer a request that reached it, once, on the subject that the request names."""


def permissions_for(identity: Identity, subjects: Subjects, pools: Iterable[str]) -> Permissions:
    """Return the least permissions of `identity` on a broker that serves `pools`."""
    inbox = f"{subjects.inbox_prefix(identity.name)}.>"
    match identity:
        case Provisioner():
            return Permissions((f"{_API}.>",), (inbox,), may_answer=False)
        case Operator():
            asked = operator_requests(subjects, pools)
            return Permissions(tuple(one.subject for one in asked), (inbox,), may_answer=False)
        case Executor():
            served = sorted(set(pools))
            requests = executor_requests(subjects, served, identity.id)
            models = map(subjects.model, served)
            tasks = (f"{_root(subjects)}.event.*", subjects.stops())
            heard: tuple[str, ...] = (subjects.replies_to(identity.id), *tasks, *models)
        case Worker():
            requests = worker_requests(subjects, identity.pool, identity.id)
            heard = _to_workers(subjects, identity.pool, identity.id)
    return Permissions(tuple(one.subject for one in requests), (*heard, inbox), may_answer=True)


def worker_requests(subjects: Subjects, pool: str, worker: str = _ANY) -> tuple[Request, ...]:
    """Return what a worker of `pool` sends; of any one if `worker` is `*`."""
    stream = subjects.invoke_stream(pool)
    root = _root(subjects)
    calls = f"{pool}.*"
    return (
        Request(f"{_API}.INFO"),
        Request(f"{_API}.CONSUMER.MSG.NEXT.{stream}.*", many_answers=True),
        Request(f"$JS.ACK.{stream}.>"),
        *_bucket(subjects.ledger_bucket(), calls),
        *_bucket(subjects.result_bucket(), calls),
        *_bucket(subjects.catalog_bucket(), f"{pool}.*.{worker}"),
        *_bucket(subjects.heartbeat_bucket(), f"{pool}.{worker}"),
        *_payloads(subjects, pool),
        Request(f"{root}.dead.{pool}.*"),
        Request(f"{root}.reply.{pool}.*.*", owner=EXECUTOR_ACCOUNT),
        Request(subjects.model(pool), owner=EXECUTOR_ACCOUNT),
    )


def executor_requests(subjects: Subjects, pools: Iterable[str], executor: str = _ANY) -> tuple[Request, ...]:
    """Return what an executor sends that may call tools of `pools`; any executor if `executor` is `*`."""
    requests = [Request(f"{_API}.INFO"), *_bucket(subjects.heartbeat_bucket(), f"_executors.{executor}")]
    requests += _tasks(subjects)
    for pool in sorted(set(pools)):
        requests += (
            Request(subjects.invoke_pool(pool)),
            Request(f"{_API}.STREAM.MSG.DELETE.{subjects.invoke_stream(pool)}"),
            *_bucket(subjects.ledger_bucket(), f"{pool}.*"),
            Request(_get(subjects.result_bucket(), f"{pool}.*")),
            *_payloads(subjects, pool),
            *(Request(subject, owner=pool_account(pool)) for subject in _to_workers(subjects, pool)),
        )
    for bucket in (subjects.catalog_bucket(), subjects.heartbeat_bucket()):
        requests += _view(bucket)
    return tuple(requests)


def operator_requests(subjects: Subjects, pools: Iterable[str]) -> tuple[Request, ...]:
    """Return what an operator sends: whose dead letters these are is for the one who runs the mesh to see."""
    requests = [Request(f"{_API}.INFO")]
    for stream in map(subjects.dead_stream, sorted(set(pools))):
        requests += (Request(f"{_API}.DIRECT.GET.{stream}"), Request(f"{_API}.STREAM.MSG.DELETE.{stream}"))
    return tuple(requests)


def _tasks(subjects: Subjects) -> tuple[Request, ...]:
    """Queue and take tasks, write and read their events."""
    tasks, events, root = subjects.task_stream(), subjects.event_stream(), _root(subjects)
    return (
        Request(f"{root}.task.*"),
        Request(f"{root}.schedule.*"),
        Request(f"{root}.event.*"),
        Request(subjects.stops(), owner=EXECUTOR_ACCOUNT),
        Request(f"{_API}.CONSUMER.CREATE.{tasks}.*.{root}.task.*"),
        Request(f"{_API}.CONSUMER.MSG.NEXT.{tasks}.*", many_answers=True),
        Request(f"$JS.ACK.{tasks}.>"),
        Request(f"{_API}.DIRECT.GET.{events}", many_answers=True),
        Request(f"{_API}.STREAM.MSG.GET.{events}"),
        Request(f"{_API}.STREAM.INFO.{events}"),
    )


def _to_workers(subjects: Subjects, pool: str, worker: str = _ANY) -> tuple[str, ...]:
    root = _root(subjects)
    return (f"{root}.control.{pool}.{worker}", f"{root}.direct.{pool}.{worker}", f"{root}.describe.{pool}.*")


def _bucket(bucket: str, keys: str) -> tuple[Request, ...]:
    """Write and read some keys."""
    return (Request(_key(bucket, keys)), Request(_get(bucket, keys)))


def _view(bucket: str) -> tuple[Request, ...]:
    """Read and watch a whole bucket."""
    return (
        Request(_get(bucket, ">")),
        Request(f"{_API}.CONSUMER.CREATE.KV_{bucket}.*.$KV.{bucket}.>"),
        Request(f"{_API}.CONSUMER.MSG.NEXT.KV_{bucket}.*", many_answers=True),
    )


def _payloads(subjects: Subjects, pool: str) -> tuple[Request, ...]:
    bucket = subjects.payload_bucket(pool)
    return (
        Request(f"$O.{bucket}.C.>"),
        Request(f"{_API}.DIRECT.GET.OBJ_{bucket}.$O.{bucket}.C.>"),
        Request(f"{_API}.STREAM.PURGE.OBJ_{bucket}"),
    )


def _key(bucket: str, key: str) -> str:
    return f"$KV.{bucket}.{key}"


def _get(bucket: str, key: str) -> str:
    return f"{_API}.DIRECT.GET.KV_{bucket}.$KV.{bucket}.{key}"


def _root(subjects: Subjects) -> str:
    return f"tm.{subjects.namespace}"
