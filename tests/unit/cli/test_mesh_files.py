"""What `toolmesh up` writes for the parts of a mesh."""

import dataclasses
import stat
from pathlib import Path

import pytest

from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_cli.child_environment import worker_environment
from toolmesh_cli.mesh_authorization import AuthorizationSource
from toolmesh_cli.mesh_files import client_profile, executor_config, worker_config, write_config
from toolmesh_cli.mesh_options import MeshOptions
from toolmesh_cli.mesh_state import MeshState, read_state, write_state
from toolmesh_client.profile import read_profile, settings_from, write_profile
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.executor_config import load_executor_config
from toolmesh_contracts.worker_config import load_worker_config
from toolmesh_identity.development import DevelopmentIssuer


def _options(folder: Path, sandbox: str = "bwrap") -> MeshOptions:
    return MeshOptions(tools=(folder,), data_folder=folder, pool="web", namespace="ns", sandbox=sandbox)


def _connection(folder: Path, identity: str) -> ConnectionSettings:
    seed = folder / f"{identity}.nk"
    return ConnectionSettings(servers=("nats://127.0.0.1:1",), namespace="ns", identity=identity, nkey_seed_file=seed)


def test_a_workers_file_is_valid_private_and_names_only_its_own_keys(tmp_path: Path) -> None:
    """No signing key, no other pool's or part's key is within a worker's reach by its configuration."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "keys")
    config = worker_config(_options(tmp_path), "w", _connection(tmp_path, "w"), [tmp_path / "manifest.yaml"], issuer)
    path = write_config(tmp_path, "w", config)

    loaded = load_worker_config(path, {}).model
    assert (loaded.worker_id, loaded.pool, loaded.namespace) == ("w", "web", "ns")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    named = {Path(loaded.keys.issuer), Path(loaded.keys.executors), Path(loaded.keys.sealing)}
    assert named == {issuer.issuer_public_file, issuer.executor_public_file, issuer.sealing_key_file("web")}
    assert loaded.broker.nkey_seed_file == str(tmp_path / "w.nk")
    private = [file.read_text() for file in (issuer.issuer_key_file, issuer.executor_key_file)]
    assert not any(secret in path.read_text() for secret in private)
    assert "private" not in path.read_text().replace(str(issuer.sealing_key_file("web")), "")


@pytest.mark.parametrize(("sandbox", "direct"), [("bwrap", False), ("prlimit-only", False), ("direct", True)])
def test_only_the_explicit_flag_allows_no_isolation(tmp_path: Path, sandbox: str, direct: bool) -> None:
    """`direct` is asked for twice in the file; no other mode opens that door."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "keys")
    options = _options(tmp_path, sandbox)
    config = worker_config(options, "w", _connection(tmp_path, "w"), [tmp_path / "manifest.yaml"], issuer)

    loaded = load_worker_config(write_config(tmp_path, "w", config), {}).model
    assert (loaded.sandbox.mode, loaded.sandbox.allow_direct) == (sandbox, direct)


@pytest.mark.parametrize(("replicas", "lease_s"), [(1, 6), (3, 15)])
def test_parts_of_a_cluster_know_all_servers_and_outlast_the_loss_of_one(
    tmp_path: Path, replicas: int, lease_s: float
) -> None:
    """Servers choose another leader within 9 s; every part, and the client, may connect to any of them."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "keys")
    options = dataclasses.replace(_options(tmp_path), replicas=replicas)
    servers = ("nats://a:4222", "nats://b:4222")
    connection = dataclasses.replace(_connection(tmp_path, "w"), servers=servers)
    config = worker_config(options, "w", connection, [tmp_path / "manifest.yaml"], issuer)

    loaded = load_worker_config(write_config(tmp_path, "w", config), {}).model
    assert (loaded.broker.urls, loaded.lease_seconds) == (servers, lease_s)
    assert settings_from(client_profile(options, "c", connection, issuer)).connection.servers == servers
    # A look at a dead worker's call comes at most a renewal after its lease.
    assert lease_s + 2 < 2 * LayoutSettings.on_servers(replicas).ack_wait_s


def test_the_executors_file_and_the_clients_profile_are_valid(tmp_path: Path) -> None:
    """Both load with the keys that they name."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "keys")
    config = executor_config(_options(tmp_path), "e", _connection(tmp_path, "e"), [tmp_path / "a.yaml"], issuer)

    loaded = load_executor_config(write_config(tmp_path, "executor", config), {}).model
    assert loaded.executor_id == "e"
    assert loaded.agents == (str(tmp_path / "a.yaml"),)

    profile = client_profile(_options(tmp_path), "c", _connection(tmp_path, "c"), issuer)
    read = read_profile(write_profile(tmp_path, profile))
    assert read == profile
    assert set(settings_from(read).sealing_keys) == {"web"}


def test_the_state_is_read_back_and_its_absence_is_told(tmp_path: Path) -> None:
    """`toolmesh call --agent` finds the agent files of the running mesh."""
    source = AuthorizationSource(file="/access.yaml", variables={"AUTHORIZATION_TYPE": "default_rbac"})
    state = MeshState(pool="web", workers=2, agents=("/a.yaml",), authorization=source)
    write_state(tmp_path, state)

    assert read_state(tmp_path) == state
    with pytest.raises(ToolmeshError) as caught:
        read_state(tmp_path / "absent")
    assert caught.value.code is ErrorCode.BROKER_UNREACHABLE


def test_a_worker_gets_no_secret_of_our_environment() -> None:
    """Only what a program needs to run at all."""
    ours = {"PATH": "/bin", "HOME": "/home/x", "LC_ALL": "C", "ANTHROPIC_API_KEY": "s", "AWS_SECRET_ACCESS_KEY": "s"}

    assert worker_environment(ours) == {"PATH": "/bin", "HOME": "/home/x", "LC_ALL": "C"}
