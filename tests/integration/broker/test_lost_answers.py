"""A write whose answer is lost on the way is repeated, and is its writer's own all the same."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.nats_server import nats_server

from toolmesh_broker.errors import BrokerTimeoutError, RevisionConflictError
from toolmesh_broker.jetstream.connection import Connection, open_connection
from toolmesh_broker.jetstream.keyvalue import JetStreamKeyValue
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.jetstream.provision import provision
from toolmesh_broker.jetstream.requests import Answer
from toolmesh_broker.settings import ConnectionSettings


class LosesAnswers:
    """A connection that hears nothing of the first answer to each write of a key."""

    def __init__(self, connection: Connection) -> None:
        self._ask = connection.ask
        self._lost: set[str] = set()

    async def ask(
        self, subject: str, body: bytes, timeout_s: float, headers: Mapping[str, str] | None = None
    ) -> Answer:
        answer = await self._ask(subject, body, timeout_s, headers)
        message_id = (headers or {}).get("Nats-Msg-Id", "")
        if message_id and message_id not in self._lost:
            self._lost.add(message_id)
            raise BrokerTimeoutError("this answer was lost")
        return answer


async def test_writes_of_keys_survive_a_lost_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create, update and delete by compare-and-set: each is done once and is no conflict with itself."""
    async with nats_server(tmp_path) as server:
        settings = ConnectionSettings(namespace="test", identity="one", servers=(server.url,))
        async with open_connection(settings) as connection:
            await provision(connection, ("default",), LayoutSettings())
            monkeypatch.setattr(connection, "ask", LosesAnswers(connection).ask)
            bucket = JetStreamKeyValue(connection, connection.subjects.ledger_bucket())
            first = await bucket.create("p.a", b"one", 60)
            second = await bucket.update("p.a", b"two", first, 60)
            assert second > first
            with pytest.raises(RevisionConflictError):
                await bucket.update("p.a", b"three", first, 60)
            entry = await bucket.get("p.a")
            assert entry is not None
            assert (entry.value, entry.revision) == (b"two", second)
            await bucket.delete("p.a", second)
            assert await bucket.get("p.a") is None
