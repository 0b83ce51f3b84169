"""The worker's configuration."""

from pathlib import Path

import pytest

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.worker_config import WorkerConfig, load_worker_config

SHORTEST = """\
namespace: demo
toolsets: [tools]
keys: {issuer: a.json, executors: b.json, sealing: c.json}
"""


def load(folder: Path, text: str, **environment: str) -> WorkerConfig:
    """Write a configuration and load it."""
    path = folder / "worker.yaml"
    path.write_text(text)
    return load_worker_config(path, environment).model


def refusal(folder: Path, text: str) -> str:
    """Return the problems of a configuration that must be refused."""
    with pytest.raises(ConfigError) as caught:
        load(folder, text, SECRET="s3cret-value")
    return str(caught.value)


def test_defaults(tmp_path: Path) -> None:
    """Isolated, on loopback, 300 s, as many calls as the machine allows."""
    config = load(tmp_path, SHORTEST)

    assert config.sandbox.mode == "bwrap"
    assert config.sandbox.python == "/usr/bin/python3"
    assert (config.default_timeout_seconds, config.discovery_seconds) == (300, 30)
    assert config.concurrency == "auto"
    assert config.health.host == "127.0.0.1"
    assert config.broker.urls == ("nats://127.0.0.1:4222",)
    assert config.pool == "default"


def test_variables_reach_typed_fields(tmp_path: Path) -> None:
    """A variable's text becomes a number where a number belongs, and paths tell where variables were."""
    text = SHORTEST + "health: {port: '${PORT}'}\nconcurrency: ${SLOTS}\nbroker: {token: '${TOKEN}'}\n"
    path = tmp_path / "worker.yaml"
    path.write_text(text)
    loaded = load_worker_config(path, {"PORT": "9000", "SLOTS": "4", "TOKEN": "007"})

    assert (loaded.model.health.port, loaded.model.concurrency, loaded.model.broker.token) == (9000, 4, "007")
    assert ("broker", "token") in loaded.referenced


def test_all_missing_variables_come_at_once(tmp_path: Path) -> None:
    """A person sets them in one go."""
    message = refusal(tmp_path, SHORTEST + "broker: {user: '${NATS_USER}', password: '${NATS_PASSWORD}'}\n")

    assert "broker.user: the environment variable NATS_USER is not set" in message
    assert "broker.password: the environment variable NATS_PASSWORD is not set" in message


def test_several_brokers_are_separated_by_commas(tmp_path: Path) -> None:
    """A cluster is one text, as NATS writes it."""
    config = load(tmp_path, SHORTEST + "broker: {url: 'nats://a:1, tls://b:2'}\n")

    assert config.broker.urls == ("nats://a:1", "tls://b:2")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sandbox: {mode: direct}", "needs `allow_direct: true`"),
        ("sandbox: {mode: bubblewrap}", "allowed: bwrap, prlimit-only, direct"),
        ("sandbox: {work_folder: tmp}", "an absolute path"),
        ("sandbox: {uid_base: 0}", "greater than or equal to 1000"),
        ("sandbox: {uid_count: 0}", "greater than or equal to 1"),
        ("sandbox: {floor: FILTER_ONLY}", "allowed: FULL, USER_NAMESPACES_LEFT, NO_PROC"),
        ("broker: {url: 'nats://me:pw@host:1'}", "without user or password"),
        ("broker: {url: 'http://host'}", "a broker URL is needed"),
        ("broker: {url: 'wss://host'}", "a broker URL is needed"),
        ("broker: {user: me}", "`user` and `password` belong together"),
        ("broker: {token: a, nkey_seed_file: b}", "found nkey_seed_file and token"),
        ("broker: {tls: {cert: a}}", "`cert` and `key` belong together"),
        ("concurrency: 0", "`auto` or a whole number"),
        ("concurrency: true", "`auto` or a whole number"),
        ("concurrency: many", "`auto` or a whole number"),
        ("limits: {result_byte: 5}", "did you mean 'result_bytes'?"),
        ("health: {port: 70000}", "less than or equal to 65535"),
        ("log_level: verbose", "allowed: debug, info, warning, error"),
        ("worker_id: a.b", "this name is not allowed"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, reason: str) -> None:
    """Each gives its line and what is allowed."""
    message = refusal(tmp_path, f"{SHORTEST}{text}\n")

    assert reason in message
    assert "worker.yaml:4" in message


def test_missing_parts_are_named_with_what_they_are(tmp_path: Path) -> None:
    """An empty mapping lists everything that is needed, in words."""
    message = refusal(tmp_path, "pool: x\n")

    assert "namespace: this key is required: Everything on the broker" in message
    assert "keys: this key is required" in message
    assert "toolsets: this key is required" in message


def test_no_message_shows_a_secret(tmp_path: Path) -> None:
    """Neither a variable's value nor a literal under a secret's name is printed."""
    text = "broker: {url: '${SECRET}', password: [hunter2], token: 5}\nhealth: {host: 3, port: '${SECRET}'}\n"
    message = refusal(tmp_path, SHORTEST + text)

    assert "s3cret-value" not in message
    assert "hunter2" not in message
    assert 'found "${SECRET}"' in message
