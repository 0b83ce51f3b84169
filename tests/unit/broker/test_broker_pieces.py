"""Small parts of the broker library that need no broker."""

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlparse

import pytest
from nats.aio.client import Server

from toolmesh_broker import errors
from toolmesh_broker.configured import connection_settings
from toolmesh_broker.jetstream.ack_subject import AckSubject
from toolmesh_broker.jetstream.client_options import client_options, next_server
from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.memory.patterns import matches
from toolmesh_broker.ports import Message
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_broker.ttl import whole_seconds
from toolmesh_contracts.broker_config import BrokerConfig
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.names import BROKER_SCHEMES


@pytest.mark.parametrize(("ttl_s", "expected"), [(-5, 1), (0, 1), (0.2, 1), (1, 1), (1.01, 2), (86_400, 86_400)])
def test_times_to_live_are_whole_seconds_of_at_least_one(ttl_s: float, expected: int) -> None:
    """The server refuses fractions and zero."""
    assert whole_seconds(ttl_s) == expected


def test_ack_subjects_are_read_with_and_without_a_domain() -> None:
    """Both forms of ADR-15 give the same origin; anything else is none."""
    expected = AckSubject("S", "c", 2, 7, 1234, 5)
    assert AckSubject.parse("$JS.ACK.S.c.2.7.3.1234.5") == expected
    assert AckSubject.parse("$JS.ACK.domain.hash.S.c.2.7.3.1234.5.random") == expected
    assert AckSubject.parse("$JS.ACK.S.c") is None
    assert AckSubject.parse("_INBOX.x.y") is None
    assert AckSubject.parse("") is None


@pytest.mark.parametrize(
    ("pattern", "subject", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.b", "a.c", False),
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("a.>", "a.b.c", True),
        ("a.>", "a", False),
        (">", "a", True),
        ("a.b", "a", False),
        ("*.b", "a.b", True),
    ],
)
def test_patterns_match_as_nats_does(pattern: str, subject: str, *, expected: bool) -> None:
    """The in-memory twin reads wildcards like the server."""
    assert matches(pattern, subject) is expected


def test_reconnects_are_spread_by_full_jitter_up_to_five_seconds() -> None:
    """Delays stay within the growing bound, differ, and the server tried least goes first."""
    tired, fresh = Server(urlparse("nats://a:1"), 9), Server(urlparse("nats://b:1"), 0)
    for _ in range(50):
        server, delay = next_server([tired, fresh], {})
        assert server is fresh
        assert 0 <= delay <= 0.1
    delays = [next_server([Server(urlparse("nats://a:1"), 60)], {})[1] for _ in range(200)]
    assert all(0 <= delay <= 5 for delay in delays)
    assert max(delays) > 2
    assert len(set(delays)) > 100


def noticed_after_s(interval_s: float, unanswered: int) -> float:
    """Both nats-py and the server give a peer up in place of the ping that would be one too many."""
    return interval_s * (unanswered + 1)


@pytest.mark.requirement("broker:half-open")
def test_connections_never_give_up_and_ping_often() -> None:
    """nats-py's defaults would close for good after two minutes and notice a dead peer after six."""
    options = client_options(ConnectionSettings(servers=("nats://a:1",), namespace="n", identity="i"), "_INBOX.n.i")
    assert options["max_reconnect_attempts"] == -1
    assert noticed_after_s(options["ping_interval"], options["max_outstanding_pings"]) < 20
    assert options["inbox_prefix"] == "_INBOX.n.i"
    assert "tls" not in options


def test_every_error_has_a_code_of_the_contract() -> None:
    """A program can decide by code; none of them is an internal error."""
    classes = [getattr(errors, name) for name in errors.__all__ if name != "BrokerError"]
    assert all(cls.default_code in set(ErrorCode) - {ErrorCode.INTERNAL_ERROR} for cls in classes)


def test_only_the_jetstream_part_imports_nats() -> None:
    """Ports, ledger, catalog and the rest stay cheap to import."""
    modules = (
        "ports errors ledger results catalog reply_sender reply_listener claim_check heartbeats dead_letters settings"
    )
    imports = ", ".join(f"toolmesh_broker.{module}" for module in [*modules.split(), "memory.broker"])
    program = f"import sys, {imports}; print([name for name in sys.modules if name.split('.')[0] == 'nats'])"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


async def test_the_twin_is_never_disconnected() -> None:
    """Reconnect callbacks are taken and never called; a message without a reply subject is answered into nothing."""
    async with MemoryHub.running("n") as hub:
        broker = MemoryBroker(hub, "i")
        assert broker.connected
        broker.on_reconnect(lambda: pytest.fail("reconnected"))()
        broker.on_disconnect(lambda: pytest.fail("disconnected"))()
        await Message("x", b"").respond(b"unheard")


@pytest.mark.parametrize("scheme", BROKER_SCHEMES)
def test_what_a_configuration_may_say_of_a_url_can_be_connected_to(scheme: str) -> None:
    """Both sides read one list of schemes: none is accepted in a file and refused at the start."""
    config = BrokerConfig(url=f"{scheme}://a:1")
    settings = connection_settings(config, Path("/"), namespace="n", identity="i")
    assert client_options(settings, "_INBOX.n.i")["servers"] == [f"{scheme}://a:1"]
