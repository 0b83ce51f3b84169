"""Connecting: every kind of credential, TLS both ways, and clear errors for what can't work."""

import asyncio
import datetime as dt
import ipaddress
import logging
import time
from dataclasses import dataclass
from pathlib import Path

import nkeys  # type: ignore[import-untyped]
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.support.brokers import NAMESPACE
from tests.support.fake_nats import fake_nats
from tests.support.nats_server import nats_server

from toolmesh_broker.errors import (
    BrokerPermissionError,
    BrokerRefusedError,
    BrokerUnreachableError,
    InsecureConnectionError,
    ServerTooOldError,
)
from toolmesh_broker.jetstream.broker import connect
from toolmesh_broker.ports import Message
from toolmesh_broker.settings import ConnectionSettings, TlsSettings


def _settings(url: str, **more: object) -> ConnectionSettings:
    return ConnectionSettings(servers=(url,), namespace=NAMESPACE, identity="me", **more)  # type: ignore[arg-type]


async def _works(settings: ConnectionSettings) -> bool:
    async with connect(settings) as broker:
        await broker.request("$JS.API.INFO", b"", 5)
        return broker.connected and broker.identity == "me"


# -- unreachable and unsuitable servers


async def test_an_unreachable_server_is_a_typed_error_within_the_timeout() -> None:
    """Nothing listens: BROKER_UNREACHABLE that names the server, without its password, after the set time."""
    settings = ConnectionSettings(
        servers=("nats://user:hunter2@127.0.0.1:1",), namespace=NAMESPACE, identity="me", connect_timeout_s=0.5
    )
    started = time.monotonic()
    with pytest.raises(BrokerUnreachableError) as caught:
        async with connect(settings):
            pass
    assert time.monotonic() - started < 5
    assert caught.value.code == "BROKER_UNREACHABLE"
    assert "127.0.0.1:1" in str(caught.value)
    assert "hunter2" not in str(caught.value)


async def test_wrong_credentials_fail_at_once(tmp_path: Path) -> None:
    """A refused password is not tried until the timeout, and is not in the message."""
    async with nats_server(tmp_path, 'authorization { user: "u", password: "right" }') as server:
        with pytest.raises(BrokerUnreachableError, match="credentials refused") as caught:
            async with asyncio.timeout(5), connect(_settings(server.url, user="u", password="wr0ng")):
                pass
    assert "wr0ng" not in str(caught.value)


async def test_a_server_without_jetstream_is_refused(tmp_path: Path) -> None:
    """The message says what to switch on."""
    async with nats_server(tmp_path, jetstream=False) as server:
        with pytest.raises(BrokerRefusedError, match="JetStream"):
            async with connect(_settings(server.url)):
                pass


@pytest.mark.parametrize("limit", ["100KB", "1023KB"])
async def test_a_server_with_a_small_payload_limit_is_refused(tmp_path: Path, limit: str) -> None:
    """It could not carry inline calls of 256 KiB, or not the dead letter of the largest message it took."""
    async with nats_server(tmp_path, f"max_payload: {limit}") as server:
        with pytest.raises(BrokerRefusedError, match="max_payload"):
            async with connect(_settings(server.url)):
                pass


@pytest.mark.parametrize(("api", "level"), [({}, 0), ({"api": {"level": 1}}, 1)])
async def test_an_old_server_is_refused_by_its_api_level(api: dict[str, object], level: int) -> None:
    """Old servers ignore unknown settings silently, so the level decides, not a create that succeeds."""
    async with fake_nats(api_info=api) as fake:
        with pytest.raises(ServerTooOldError) as caught:
            async with connect(_settings(fake.url)):
                pass
    assert (caught.value.level, caught.value.required) == (level, 2)
    assert "2.9.0" in caught.value.message


async def test_an_account_without_jetstream_is_refused() -> None:
    """The server's own words are passed on."""
    refusal = {"error": {"code": 503, "err_code": 10039, "description": "JetStream not enabled for account"}}
    async with fake_nats(api_info=refusal) as fake:
        with pytest.raises(BrokerRefusedError, match="not enabled for account"):
            async with connect(_settings(fake.url)):
                pass


async def test_connecting_waits_for_a_cluster_that_elects_a_leader() -> None:
    """Its servers say that JetStream is not ready, or nothing at all, for some seconds."""
    not_ready = {"error": {"code": 503, "err_code": 10008, "description": "JetStream system temporarily unavailable"}}
    async with fake_nats() as fake:
        fake.before += [not_ready, None, not_ready]
        async with asyncio.timeout(14), connect(_settings(fake.url)):
            pass
    assert fake.before == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"servers": ()}, "no broker URL"),
        ({"servers": ("http://user:pw@x:1",)}, "'x:1' has no known scheme"),
        ({"token": "t", "user": "u"}, "several broker credentials"),
        ({"nkey_seed_file": Path("/nonexistent/seed")}, "/nonexistent/seed is no file"),
        ({"tls": TlsSettings(ca_file=Path("/nonexistent/ca.pem"))}, "/nonexistent/ca.pem"),
    ],
)
async def test_unusable_settings_are_refused_with_their_name(more: dict[str, object], words: str) -> None:
    """Before any connection is tried."""
    values: dict[str, object] = {"servers": ("nats://127.0.0.1:1",), "namespace": NAMESPACE, "identity": "me", **more}
    with pytest.raises(BrokerRefusedError, match=words):
        async with connect(ConnectionSettings(**values)):  # type: ignore[arg-type]
            pass


def test_secrets_are_not_in_the_settings_text() -> None:
    """A settings object that ends up in a log gives nothing away."""
    settings = _settings("nats://x", password="hunter2", token="hunter3")
    assert "hunter" not in repr(settings).lower()


# -- credentials


async def test_user_and_password_and_token_are_accepted(tmp_path: Path) -> None:
    """The two plain kinds, from settings and from the URL."""
    async with nats_server(tmp_path / "u", 'authorization { user: "u", password: "p" }') as server:
        assert await _works(_settings(server.url, user="u", password="p"))
        assert await _works(_settings(server.url.replace("://", "://u:p@")))
    async with nats_server(tmp_path / "t", 'authorization { token: "s3cret" }') as server:
        assert await _works(_settings(server.url, token="s3cret"))


async def test_an_nkey_seed_file_is_accepted(tmp_path: Path) -> None:
    """The server knows the public key only."""
    seed = nkeys.encode_seed(bytes(range(32)), nkeys.PREFIX_BYTE_USER)
    public = nkeys.from_seed(bytearray(seed)).public_key.decode()
    seed_file = tmp_path / "me.nk"
    seed_file.write_bytes(seed + b"\n")
    async with nats_server(tmp_path / "n", f"authorization {{ users: [ {{ nkey: {public} }} ] }}") as server:
        assert await _works(_settings(server.url, nkey_seed_file=seed_file))


async def test_a_credentials_file_is_sent_as_jwt_and_signature(tmp_path: Path) -> None:
    """The `.creds` format: the JWT goes out, the seed does not."""
    seed = nkeys.encode_seed(bytes(range(32)), nkeys.PREFIX_BYTE_USER).decode()
    credentials = tmp_path / "me.creds"
    credentials.write_text(
        f"-----BEGIN NATS USER JWT-----\neyJ.jwt.x\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )
    async with fake_nats({"auth_required": True, "nonce": "abc"}) as fake:
        assert await _works(_settings(fake.url, credentials_file=credentials))
    (sent,) = fake.connects
    assert sent["jwt"] == "eyJ.jwt.x"
    assert sent["sig"]
    assert seed.encode() not in fake.received


# -- TLS


@dataclass(frozen=True)
class _Authority:
    folder: Path
    key: ec.EllipticCurvePrivateKey
    name: x509.Name

    @property
    def file(self) -> Path:
        return self.folder / "ca.pem"

    def issue(self, name: str) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(name, key, self.name, self.key, authority=False)
        files = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        files[0].write_bytes(certificate)
        files[1].write_bytes(_pem(key))
        return files


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
    *,
    authority: bool,
) -> bytes:
    now = dt.datetime.now(dt.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName(name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(address, critical=False)
        .sign(signer, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


def _authority(folder: Path) -> _Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test ca")])
    authority = _Authority(folder, key, name)
    authority.file.write_bytes(_certificate("test ca", key, name, key, authority=True))
    return authority


async def test_tls_verifies_the_server_and_the_server_verifies_us(tmp_path: Path) -> None:
    """Mutual TLS works with both certificates; without ours, or without trusting theirs, there is no connection."""
    authority = _authority(tmp_path)
    certificate, key = authority.issue("server")
    ours, our_key = authority.issue("client")
    config = f'tls {{ cert_file: "{certificate}", key_file: "{key}", ca_file: "{authority.file}", verify: true }}'
    async with nats_server(tmp_path / "s", config) as server:
        good = TlsSettings(ca_file=authority.file, certificate_file=ours, key_file=our_key)
        assert await _works(_settings(server.url, tls=good))
        assert await _works(_settings(server.url.replace("nats://", "tls://"), tls=good))
        for url, tls in (
            (server.url, TlsSettings(ca_file=authority.file)),
            (server.url, TlsSettings(certificate_file=ours, key_file=our_key)),
            (server.url.replace("127.0.0.1", "localhost"), good),  # a name that the certificate does not have
        ):
            with pytest.raises(BrokerUnreachableError):
                async with asyncio.timeout(10), connect(_settings(url, tls=tls, connect_timeout_s=1)):
                    pass


async def test_credentials_never_go_out_in_clear_when_tls_was_asked_for() -> None:
    """A man in the middle who strips TLS from the server's greeting gets no CONNECT."""
    async with fake_nats() as fake:
        for url, tls in ((fake.url, TlsSettings()), (fake.url.replace("nats://", "tls://"), None)):
            with pytest.raises(InsecureConnectionError):
                async with asyncio.timeout(5), connect(_settings(url, user="u", password="hunter2", tls=tls)):
                    pass
    assert fake.connects == []
    assert b"hunter2" not in fake.received


# -- permissions


async def test_denied_subjects_are_typed_errors_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A publish or subscription the server denies is told with its subject, not found out by a timeout."""
    permissions = (
        'authorization { users: [ { user: u, password: p, permissions: { publish: ["$JS.API.INFO", "ok.>"], '
        'subscribe: ["_INBOX.>", "ok.>"] } } ] }'
    )

    async def ignore(_message: Message) -> None:
        return

    async with (
        nats_server(tmp_path, permissions) as server,
        asyncio.timeout(10),
        connect(_settings(server.url, user="u", password="p")) as broker,
    ):
        with pytest.raises(BrokerPermissionError, match="forbidden"):
            await broker.request("forbidden.Place", b"", 30)
        with pytest.raises(BrokerPermissionError, match="subscribe"):
            async with broker.subscribe("forbidden.>", ignore):
                pass
        async with broker.subscribe("ok.>", ignore):
            assert broker.connected
    denials = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(denials) == 2


async def test_every_identity_has_its_own_inbox(tmp_path: Path) -> None:
    """Answers arrive below `_INBOX.<namespace>.<identity>`, which permissions can reserve."""
    permissions = (
        'authorization { users: [ { user: u, password: p, permissions: { publish: [">"], '
        f'subscribe: ["_INBOX.{NAMESPACE}.me.>"] }} }} ] }}'
    )
    async with nats_server(tmp_path, permissions) as server:
        assert await _works(_settings(server.url, user="u", password="p"))
