"""The streams, consumers and buckets of one namespace, as JetStream configurations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolmesh_broker.jetstream.keyvalue import DELETE_MARKER_TTL_S
from toolmesh_contracts.names import SHARD_COUNT, Lane
from toolmesh_contracts.subjects import Subjects

__all__ = [
    "ACK_WAIT_ON_CLUSTER_S",
    "SHARDS_METADATA",
    "ConsumerLayout",
    "LayoutSettings",
    "StreamLayout",
    "stream_layouts",
]

SHARDS_METADATA: Final = "toolmesh.shards"
_NANOSECONDS: Final = 1_000_000_000
_MIB: Final = 1024 * 1024
_DAY_S: Final = 86_400
ACK_WAIT_ON_CLUSTER_S: Final = 10.0
"""Leases are longer there, to outlast the choice of another leader: a dead worker's call is decided in twice this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutSettings:
    """What an operator may choose when the streams are made. An existing stream keeps what it has.

    Sizes are bytes, each of one stream or bucket. The server sets them aside when it makes a stream, so their sum has
    to fit its store: 2.6 GiB, and 3.1 GiB for each pool. A pool that fills its own takes nothing away from the others.
    """

    replicas: int = 1
    """3 on a cluster, for durability."""
    ack_wait_s: float = 6.0
    """Silence after which a call is taken to be dropped by its worker."""
    max_ack_pending: int = 10_000
    """Running calls per lane and shard."""
    max_waiting_pulls: int = 2048
    """Idle workers per pool."""
    max_queued_per_tenant: int = 10_000
    """Waiting calls of one agent on behalf of one user, in each lane: so many can be in front of another tenant's."""
    duplicate_window_s: float = 120.0
    queue_bytes: int = 1024 * _MIB
    """Waiting calls of a pool."""
    payload_bytes: int = 2048 * _MIB
    """Large arguments, results and files of a pool."""
    ledger_bytes: int = 1024 * _MIB
    """Some 400 bytes for each call of the last day."""
    result_bytes: int = 512 * _MIB
    catalog_bytes: int = 128 * _MIB
    event_days: int = 7
    event_bytes: int = 1024 * _MIB
    dead_letter_days: int = 30
    dead_letter_bytes: int = 128 * _MIB
    """Of a pool; the oldest go first."""

    @classmethod
    def on_servers(cls, replicas: int) -> "LayoutSettings":
        """Return what suits one server, or so many of a cluster."""
        return cls() if replicas == 1 else cls(replicas=replicas, ack_wait_s=ACK_WAIT_ON_CLUSTER_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerLayout:
    """A durable consumer and which of its fields carry a promise."""

    name: str
    config: dict[str, Any]
    promises: tuple[str, ...] = ("filter_subject", "ack_policy", "deliver_policy", "max_deliver", "deliver_subject")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLayout:
    """A stream, its consumers, and which of its fields carry a promise."""

    name: str
    config: dict[str, Any]
    promises: tuple[str, ...]
    consumers: tuple[ConsumerLayout, ...] = ()


def stream_layouts(subjects: Subjects, pools: Sequence[str], settings: LayoutSettings) -> list[StreamLayout]:
    """Return everything that the namespace and these pools need."""
    layouts = [
        _bucket(subjects.ledger_bucket(), settings, max_bytes=settings.ledger_bytes),
        _bucket(subjects.result_bucket(), settings, max_bytes=settings.result_bytes),
        _bucket(subjects.catalog_bucket(), settings, max_bytes=settings.catalog_bytes),
        _bucket(subjects.heartbeat_bucket(), settings, storage="memory"),
        _tasks(subjects, settings),
        _events(subjects, settings),
    ]
    for pool in pools:
        layouts += (
            _invocations(subjects, pool, settings),
            _payloads(subjects.payload_bucket(pool), settings),
            _dead_letters(subjects, pool, settings),
        )
    return layouts


def _nanoseconds(seconds: float) -> int:
    return int(seconds * _NANOSECONDS)


def _stream(name: str, subjects: list[str], settings: LayoutSettings, **config: Any) -> dict[str, Any]:
    return {
        "name": name,
        "subjects": subjects,
        "retention": "limits",
        "storage": "file",
        "num_replicas": settings.replicas,
        "allow_msg_ttl": True,
        "duplicate_window": _nanoseconds(settings.duplicate_window_s),
        **config,
    }


def _invocations(subjects: Subjects, pool: str, settings: LayoutSettings) -> StreamLayout:
    consumers = tuple(
        _shard_consumer(subjects, pool, lane, shard, settings) for lane in Lane for shard in range(SHARD_COUNT)
    )
    config = _stream(
        subjects.invoke_stream(pool),
        [subjects.invoke_pool(pool)],
        settings,
        retention="workqueue",
        discard="new",
        discard_new_per_subject=True,
        max_msgs_per_subject=settings.max_queued_per_tenant,
        max_bytes=settings.queue_bytes,
        metadata={SHARDS_METADATA: str(SHARD_COUNT)},
    )
    promises = ("subjects", "retention", "allow_msg_ttl", f"metadata.{SHARDS_METADATA}", "discard", "sealed", "no_ack")
    return StreamLayout(name=config["name"], config=config, promises=promises, consumers=consumers)


def _shard_consumer(subjects: Subjects, pool: str, lane: Lane, shard: int, settings: LayoutSettings) -> ConsumerLayout:
    name = subjects.invoke_consumer(lane, shard)
    config = {
        "name": name,
        "durable_name": name,
        "filter_subject": subjects.invoke_shard(pool, lane, shard),
        "ack_policy": "explicit",
        "deliver_policy": "all",
        "replay_policy": "instant",
        "ack_wait": _nanoseconds(settings.ack_wait_s),
        "max_deliver": -1,
        "max_ack_pending": settings.max_ack_pending,
        "max_waiting": settings.max_waiting_pulls,
    }
    return ConsumerLayout(name=name, config=config)


def _bucket(bucket: str, settings: LayoutSettings, **limits: Any) -> StreamLayout:
    config = _stream(
        f"KV_{bucket}",
        [f"$KV.{bucket}.>"],
        settings,
        **limits,
        max_msgs_per_subject=1,
        discard="new",
        allow_direct=True,
        allow_rollup_hdrs=True,
        deny_delete=True,
        subject_delete_marker_ttl=_nanoseconds(DELETE_MARKER_TTL_S),
    )
    promises = (
        "subjects",
        "retention",
        "allow_msg_ttl",
        "max_msgs_per_subject",
        "allow_direct",
        "subject_delete_marker_ttl",
    )
    return StreamLayout(name=config["name"], config=config, promises=(*promises, "sealed", "no_ack"))


def _payloads(bucket: str, settings: LayoutSettings) -> StreamLayout:
    config = _stream(
        f"OBJ_{bucket}",
        [f"$O.{bucket}.C.>", f"$O.{bucket}.M.>"],
        settings,
        discard="new",
        allow_direct=True,
        allow_rollup_hdrs=True,
        max_bytes=settings.payload_bytes,
    )
    promises = ("subjects", "retention", "allow_msg_ttl", "allow_direct", "discard", "sealed", "no_ack")
    return StreamLayout(name=config["name"], config=config, promises=promises)


def _tasks(subjects: Subjects, settings: LayoutSettings) -> StreamLayout:
    config = _stream(
        subjects.task_stream(),
        [subjects.all_of("task"), subjects.all_of("schedule")],
        settings,
        retention="workqueue",
        # The server allows no discard policy "new" beside schedules; without limits, "old" discards nothing either.
        discard="old",
        allow_msg_schedules=True,
        allow_rollup_hdrs=True,
    )
    return StreamLayout(
        name=config["name"],
        config=config,
        promises=(
            "subjects",
            "retention",
            "allow_msg_ttl",
            "allow_msg_schedules",
            "max_msgs",
            "max_bytes",
            "max_age",
            "sealed",
            "no_ack",
        ),
    )


def _events(subjects: Subjects, settings: LayoutSettings) -> StreamLayout:
    config = _stream(
        subjects.event_stream(),
        [subjects.all_of("event")],
        settings,
        discard="old",
        allow_direct=True,
        max_age=_nanoseconds(settings.event_days * _DAY_S),
        max_bytes=settings.event_bytes,
    )
    return StreamLayout(name=config["name"], config=config, promises=("subjects", "retention", "sealed", "no_ack"))


def _dead_letters(subjects: Subjects, pool: str, settings: LayoutSettings) -> StreamLayout:
    config = _stream(
        subjects.dead_stream(pool),
        [subjects.dead_pool(pool)],
        settings,
        discard="old",
        allow_direct=True,
        max_age=_nanoseconds(settings.dead_letter_days * _DAY_S),
        max_bytes=settings.dead_letter_bytes,
    )
    return StreamLayout(name=config["name"], config=config, promises=("subjects", "retention", "sealed", "no_ack"))
