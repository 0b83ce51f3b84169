"""Checks of `toolmesh up`'s options, and of the system."""

from pathlib import Path
from typing import Any

import pytest

from toolmesh_broker.embedded.config_file import Durability
from toolmesh_cli.mesh_options import ExternalBroker, MeshOptions
from toolmesh_cli.sandbox_check import check_sandbox
from toolmesh_contracts.errors import ErrorCode, ToolmeshError


def _of(**changes: Any) -> MeshOptions:
    given: dict[str, Any] = {
        "tools": [Path("tools")],
        "agents": [],
        "workers": 1,
        "data_folder": Path("data"),
        "namespace": "default",
        "pool": "default",
        "broker_url": None,
        "broker_creds": None,
        "broker_nkey": None,
        "sandbox": "bwrap",
        "allow_unsandboxed": False,
    }
    return MeshOptions.of_command_line(**(given | changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tools": []}, "--tools"),
        ({"sandbox": "none"}, "bwrap or prlimit-only"),
        ({"sandbox": "direct"}, "bwrap or prlimit-only"),
        ({"namespace": "a.b"}, "namespace"),
        ({"pool": ""}, "pool"),
        ({"agents": [Path("/absent.yaml")]}, "/absent.yaml"),
        ({"broker_creds": Path("x")}, "--broker URL"),
        ({"broker_url": "nats://b", "broker_creds": Path("x"), "broker_nkey": Path("y")}, "exclude each other"),
        ({"broker_url": "nats://user:secret@b"}, "--broker-creds"),
        ({"replicas": 3}, "--broker URL,URL,URL"),
        ({"replicas": 2, "broker_url": "nats://b"}, "1, 3 or 5"),
        ({"durability": "safe"}, "fast or durable"),
        ({"durability": "durable", "broker_url": "nats://b"}, "sync_interval"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_right(changes: dict[str, Any], said: str) -> None:
    """Each gives one error with a hint; a password in a URL is not repeated."""
    with pytest.raises(ToolmeshError) as caught:
        _of(**changes)

    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_durability_is_fast_unless_asked_for() -> None:
    """A power cut may take calls by default; `durable` costs throughput."""
    assert _of().durability is Durability.FAST
    assert _of(durability="durable").durability is Durability.DURABLE


def test_an_external_broker_and_no_sandbox_are_taken_over() -> None:
    """File names become absolute, since the children read them."""
    options = _of(broker_url="nats://b:4222", broker_nkey=Path("me.nk"), allow_unsandboxed=True)

    assert options.broker == ExternalBroker("nats://b:4222", None, Path("me.nk").absolute())
    assert options.sandbox == "direct"
    assert options.data_folder.is_absolute()


def test_a_system_without_sandboxes_stops_with_one_line_that_names_the_way_around() -> None:
    """macOS; with the flag, and on Linux, nothing stops."""
    with pytest.raises(ToolmeshError) as caught:
        check_sandbox("bwrap", "darwin")

    assert caught.value.code is ErrorCode.SANDBOX_UNAVAILABLE
    assert "--allow-unsandboxed" in caught.value.message
    assert caught.value.hint == ""
    check_sandbox("direct", "darwin")
    check_sandbox("bwrap", "linux")
