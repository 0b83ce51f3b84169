"""Every identity against every family of subjects, on a real server: it works only where this page says so."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from nats.aio.client import Client
from tests.support.embedded_broker import SUBJECTS, connect_plainly, embedded_broker

from toolmesh_broker.identities import Executor, Identity, Operator, Provisioner, Worker
from toolmesh_contracts.names import Lane

P, OPERATOR, ONE, TWO = Provisioner(), Operator(), Executor("one"), Executor("two")
A1, A2, B1 = Worker("alpha", "w1"), Worker("alpha", "w2"), Worker("beta", "w1")
ALL: tuple[Identity, ...] = (P, OPERATOR, ONE, TWO, A1, A2, B1)
EXECUTORS = {ONE, TWO}
POOL = {"alpha": {A1, A2}, "beta": {B1}}
NOBODY: set[Identity] = set()
CALL = "0190a0b0-0000-7000-8000-000000000000"


@dataclass(frozen=True)
class Case:
    """Who may publish to, and subscribe to, one subject."""

    subject: str
    publish: frozenset[Identity]
    subscribe: frozenset[Identity]


def case(subject: str, publish: set[Identity], subscribe: set[Identity] = NOBODY) -> Case:
    return Case(subject, frozenset(publish), frozenset(subscribe))


def direct_get(bucket: str, key: str) -> str:
    return f"$JS.API.DIRECT.GET.KV_{bucket}.$KV.{bucket}.{key}"


def cases_of_pool(pool: str) -> Iterator[Case]:
    workers: set[Identity] = set(POOL[pool])
    users = EXECUTORS | workers
    queue, payloads = SUBJECTS.invoke_stream(pool), SUBJECTS.payload_bucket(pool)
    ledger, results = SUBJECTS.ledger_bucket(), SUBJECTS.result_bucket()
    key = SUBJECTS.call_key(pool, CALL)

    yield case(SUBJECTS.invoke(pool, Lane.NORMAL, "agent", "user"), set(EXECUTORS))
    yield case(SUBJECTS.invoke_pool(pool), NOBODY)
    yield case(SUBJECTS.describe(pool, "tool"), set(EXECUTORS), workers)
    yield case(SUBJECTS.model(pool), workers, set(EXECUTORS))
    dead = SUBJECTS.dead_stream(pool)
    yield case(SUBJECTS.dead_letter(pool, CALL), workers)
    yield case(f"$JS.API.DIRECT.GET.{dead}", {P, OPERATOR})
    yield case(f"$JS.API.STREAM.MSG.DELETE.{dead}", {P, OPERATOR})
    for operation in ("PURGE", "DELETE", "INFO", "MSG.GET"):
        yield case(f"$JS.API.STREAM.{operation}.{dead}", {P})
    for executor in (ONE, TWO):
        yield case(SUBJECTS.reply(pool, executor.id, CALL), workers, {executor})
    for worker in POOL[pool]:
        yield case(SUBJECTS.control(pool, worker.id), set(EXECUTORS), {worker})
        yield case(SUBJECTS.direct(pool, worker.id), set(EXECUTORS), {worker})
        catalog = SUBJECTS.catalog_key(pool, "tool", worker.id)
        yield case(f"$KV.{SUBJECTS.catalog_bucket()}.{catalog}", {worker})
        yield case(direct_get(SUBJECTS.catalog_bucket(), catalog), {P, *EXECUTORS, worker})
        heartbeat = SUBJECTS.heartbeat_key(pool, worker.id)
        yield case(f"$KV.{SUBJECTS.heartbeat_bucket()}.{heartbeat}", {worker})
        yield case(direct_get(SUBJECTS.heartbeat_bucket(), heartbeat), {P, worker, *EXECUTORS})
    yield case(SUBJECTS.control(pool, "w9"), set(EXECUTORS))

    yield case(f"$KV.{ledger}.{key}", users)
    yield case(f"$KV.{results}.{key}", workers)
    yield case(direct_get(ledger, key), {P, *users})
    yield case(direct_get(results, key), {P, *users})
    yield case(f"$O.{payloads}.C.object.0", users)
    yield case(f"$O.{payloads}.M.name", NOBODY)
    yield case(f"$JS.API.DIRECT.GET.OBJ_{payloads}", {P})
    yield case(f"$JS.API.DIRECT.GET.OBJ_{payloads}.$O.{payloads}.C.object.0", {P, *users})
    yield case(f"$JS.API.STREAM.PURGE.OBJ_{payloads}", {P, *users})
    yield case(f"$JS.API.STREAM.DELETE.OBJ_{payloads}", {P})
    yield case(f"$JS.API.CONSUMER.CREATE.OBJ_{payloads}.x.$O.{payloads}.C.chunk", {P})

    yield case(f"$JS.API.CONSUMER.MSG.NEXT.{queue}.normal-0", {P, *workers})
    yield case(f"$JS.ACK.{queue}.normal-0.1.1.1.1.0", workers)
    yield case(f"$JS.API.STREAM.MSG.DELETE.{queue}", {P, *EXECUTORS})
    for operation in ("CREATE", "UPDATE", "DELETE", "PURGE", "INFO", "MSG.GET", "SNAPSHOT", "RESTORE"):
        yield case(f"$JS.API.STREAM.{operation}.{queue}", {P})
    for operation in ("CREATE", "DURABLE.CREATE", "DELETE", "INFO", "PAUSE", "UNPIN"):
        yield case(f"$JS.API.CONSUMER.{operation}.{queue}.normal-0", {P})
    yield case(f"$JS.API.DIRECT.GET.{queue}", {P})


def cases_of_tasks() -> Iterator[Case]:
    tasks, events = SUBJECTS.task_stream(), SUBJECTS.event_stream()
    yield case(SUBJECTS.task("agent"), set(EXECUTORS))
    yield case(SUBJECTS.schedule("s"), set(EXECUTORS))
    yield case(SUBJECTS.event("task"), set(EXECUTORS), set(EXECUTORS))
    yield case(SUBJECTS.all_of("event"), NOBODY, set(EXECUTORS))
    yield case(SUBJECTS.stop("task"), set(EXECUTORS), set(EXECUTORS))
    yield case(f"$JS.API.CONSUMER.CREATE.{tasks}.agent.{SUBJECTS.task('agent')}", {P, *EXECUTORS})
    yield case(f"$JS.API.CONSUMER.CREATE.{tasks}.agent.{SUBJECTS.all_of('task')}", {P})
    yield case(f"$JS.API.CONSUMER.CREATE.{tasks}.agent.{SUBJECTS.schedule('s')}", {P})
    yield case(f"$JS.API.CONSUMER.CREATE.{tasks}.agent", {P})
    yield case(f"$JS.API.CONSUMER.DELETE.{tasks}.agent", {P})
    yield case(f"$JS.API.CONSUMER.MSG.NEXT.{tasks}.agent", {P, *EXECUTORS})
    yield case(f"$JS.ACK.{tasks}.agent.1.1.1.1.0", set(EXECUTORS))
    for operation in ("DIRECT.GET", "STREAM.MSG.GET", "STREAM.INFO"):
        yield case(f"$JS.API.{operation}.{events}", {P, *EXECUTORS})
        yield case(f"$JS.API.{operation}.{tasks}", {P})
    for operation in ("DELETE", "PURGE", "UPDATE", "MSG.DELETE"):
        yield case(f"$JS.API.STREAM.{operation}.{events}", {P})
        yield case(f"$JS.API.STREAM.{operation}.{tasks}", {P})


def cases_of_broker() -> Iterator[Case]:
    for bucket in (
        SUBJECTS.ledger_bucket(),
        SUBJECTS.result_bucket(),
        SUBJECTS.catalog_bucket(),
        SUBJECTS.heartbeat_bucket(),
    ):
        watched = bucket in {SUBJECTS.catalog_bucket(), SUBJECTS.heartbeat_bucket()}
        watchers: set[Identity] = {P, *(EXECUTORS if watched else NOBODY)}
        yield case(f"$JS.API.CONSUMER.CREATE.KV_{bucket}.x.$KV.{bucket}.>", watchers)
        yield case(f"$JS.API.CONSUMER.CREATE.KV_{bucket}.x.$KV.{bucket}.alpha.>", {P})
        yield case(f"$JS.API.CONSUMER.MSG.NEXT.KV_{bucket}.x", watchers)
        yield case(direct_get(bucket, f"gamma.{CALL}"), watchers)
        yield case(f"$JS.API.DIRECT.GET.KV_{bucket}", {P})
        yield case(f"$JS.API.STREAM.MSG.GET.KV_{bucket}", {P})
        yield case(f"$JS.API.STREAM.PURGE.KV_{bucket}", {P})
        yield case(f"$KV.{bucket}.gamma.{CALL}", NOBODY)
    for executor in (ONE, TWO):
        heartbeat = SUBJECTS.heartbeat_key("_executors", executor.id)
        yield case(f"$KV.{SUBJECTS.heartbeat_bucket()}.{heartbeat}", {executor})
    yield case(SUBJECTS.invoke("gamma", Lane.NORMAL, "agent", "user"), NOBODY)
    yield case(SUBJECTS.reply("gamma", "one", CALL), NOBODY, {ONE})
    yield case(SUBJECTS.model("gamma"), NOBODY)
    yield case(SUBJECTS.mint(), NOBODY)
    yield from cases_of_tasks()
    for identity in ALL:
        yield case(f"{SUBJECTS.inbox_prefix(identity.name)}.x", NOBODY, {identity})
    yield case("$JS.API.INFO", set(ALL))
    for operation in ("STREAM.NAMES", "STREAM.LIST", "META.LEADER.STEPDOWN", "ACCOUNT.PURGE.STREAMS"):
        yield case(f"$JS.API.{operation}", {P})
    for subject in (
        "$SYS.REQ.SERVER.PING",
        "$SYS.REQ.ACCOUNT.STREAMS.CONNZ",
        "$SYS.REQ.USER.INFO",
        "tm.test.model",
        "tm.other.model.alpha",
        "x",
    ):
        yield case(subject, NOBODY)
    for everything in (
        ">",
        "*",
        "tm.>",
        "$KV.>",
        "$JS.>",
        "$JS.API.>",
        "$JS.ACK.>",
        "$O.>",
        "$SYS.>",
        "_INBOX.>",
        "_R_.>",
    ):
        yield case(everything, NOBODY)
    yield case("tm.test.reply.>", NOBODY)
    yield case("tm.test.control.>", NOBODY)


CASES = [*cases_of_pool("alpha"), *cases_of_pool("beta"), *cases_of_broker()]


async def fence(client: Client) -> None:
    """Wait until the server has dealt with all that was sent; nats-py's flush may overtake what it buffers."""
    await client.request("$JS.API.INFO", timeout=5)


@pytest.mark.requirement("identity:least-subjects")
async def test_every_identity_works_only_where_it_is_listed(tmp_path: Path) -> None:
    """Publishing and subscribing to each subject is allowed to those listed above, and denied to all others."""
    wrong: list[str] = []
    async with embedded_broker(tmp_path / "broker") as server:
        for identity in ALL:
            errors: list[str] = []
            client = await connect_plainly(server.connection(identity), errors)
            for one in CASES:
                if "*" not in one.subject and ">" not in one.subject:
                    errors.clear()
                    await client.publish(one.subject, b"{}")
                    await fence(client)
                    if (not errors) != (identity in one.publish):
                        wrong.append(f"{identity.name} publish {one.subject}: {errors or 'allowed'}")

                errors.clear()
                subscription = await client.subscribe(one.subject)
                await fence(client)
                if (not errors) != (identity in one.subscribe):
                    wrong.append(f"{identity.name} subscribe {one.subject}: {errors or 'allowed'}")
                if not errors:
                    await subscription.unsubscribe()
            await client.close()
    assert wrong == []
