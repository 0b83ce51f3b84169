"""Looks at a broker and changes nothing: its age, its clock, and whether a namespace's streams are as expected."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from toolmesh_broker.errors import StreamMismatchError
from toolmesh_broker.jetstream.api import api_request
from toolmesh_broker.jetstream.connection import Connection, open_connection
from toolmesh_broker.jetstream.layout import LayoutSettings, StreamLayout, stream_layouts
from toolmesh_broker.jetstream.provision import CONSUMER_NOT_FOUND, STREAM_NOT_FOUND, compare, look_up
from toolmesh_broker.settings import ConnectionSettings

__all__ = ["Inspection", "inspect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What was found.

    Attributes:
        api_level: Level of the server's JetStream API.
        streams: How many streams and buckets there should be.
        missing: Streams and consumers that are not there.
        broken: What breaks a promise, each with both values.
        different: What is merely not as new streams are made.
        dead_letters: Messages of these pools that nobody will run; None if a stream of them is missing.
        skew_s: Seconds that the server's clock is ahead of ours; None if it did not tell.
    """

    api_level: int
    streams: int
    missing: tuple[str, ...]
    broken: tuple[str, ...]
    different: tuple[str, ...]
    dead_letters: int | None
    skew_s: float | None


async def inspect(
    settings: ConnectionSettings, pools: Sequence[str], layout: LayoutSettings | None = None
) -> Inspection:
    """Look at everything that the namespace and these pools need.

    Args:
        settings: Of an identity that may use the whole JetStream API.
        pools: The pools.
        layout: What streams should be like; None: the defaults.

    Raises:
        BrokerError: the broker can't be reached, or is one that nobody can work with.
    """
    async with open_connection(settings) as connection:
        account = await api_request(connection, "INFO")
        looking = _Looking(connection)
        layouts = stream_layouts(connection.subjects, pools, layout or LayoutSettings())
        for one in layouts:
            await looking.at(one)
        return Inspection(
            api_level=int(account.get("api", {}).get("level", 0)),
            streams=len(layouts),
            missing=tuple(looking.missing),
            broken=tuple(looking.broken),
            different=tuple(looking.different),
            dead_letters=looking.total(map(connection.subjects.dead_stream, pools)),
            skew_s=looking.skew_s,
        )


class _Looking:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.missing: list[str] = []
        self.broken: list[str] = []
        self.different: list[str] = []
        self.messages: dict[str, int] = {}
        self.skew_s: float | None = None

    async def at(self, layout: StreamLayout) -> None:
        asked_at = time.time()
        stream = await look_up(self._connection, f"STREAM.INFO.{layout.name}", STREAM_NOT_FOUND)
        if stream is None:
            self.missing.append(f"stream {layout.name}")
            return
        self._read_clock(stream, (asked_at + time.time()) / 2)
        self.messages[layout.name] = int(stream["state"]["messages"])
        self._compare(f"stream {layout.name}", layout.config, layout.promises, stream["config"])
        for consumer in layout.consumers:
            place = f"{layout.name}.{consumer.name}"
            info = await look_up(self._connection, f"CONSUMER.INFO.{place}", CONSUMER_NOT_FOUND)
            if info is None:
                self.missing.append(f"consumer {place}")
            else:
                self._compare(f"consumer {place}", consumer.config, consumer.promises, info["config"])

    def total(self, streams: Iterable[str]) -> int | None:
        """Return how many messages these streams hold together, if all are there."""
        counts = [self.messages.get(stream) for stream in streams]
        return None if None in counts else sum(count for count in counts if count)

    def _compare(self, name: str, wanted: dict[str, Any], promises: Sequence[str], found: dict[str, Any]) -> None:
        try:
            if merely := compare(name, wanted, promises, found):
                self.different.append(merely)
        except StreamMismatchError as error:
            self.broken.append(error.message)

    def _read_clock(self, stream: dict[str, Any], now: float) -> None:
        """Compare the answer's time with the middle of our question and its arrival."""
        text = str(stream.get("ts", ""))
        try:
            # Nanoseconds, which datetime does not read.
            told = datetime.fromisoformat(text[:19] + "+00:00").timestamp() + float(f"0{text[19:].rstrip('Z')}")
        except ValueError:
            return
        skew_s = told - now
        if self.skew_s is None or abs(skew_s) < abs(self.skew_s):
            self.skew_s = skew_s
