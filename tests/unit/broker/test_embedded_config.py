"""The embedded server's configuration file."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from toolmesh_broker.credentials import NkeyPair
from toolmesh_broker.embedded.binary import find_server_binary
from toolmesh_broker.embedded.config_file import Durability, ServerConfig, render_config
from toolmesh_broker.identities import Executor, Identity, Provisioner, Worker
from toolmesh_contracts.model_config import LONGEST_MODEL_ANSWER_S
from toolmesh_contracts.subjects import Subjects
from toolmesh_sdk.model_channel import TIMEOUT_S

PAIRS: dict[Identity, NkeyPair] = {
    one: NkeyPair.generate() for one in (Provisioner(), Executor("one"), Worker("alpha", "w1"))
}


def config(folder: Path, **changes: Any) -> ServerConfig:
    values: dict[str, Any] = {
        "subjects": Subjects("team"),
        "pools": ("alpha", "be-ta_"),
        "keys": {one: pair.public for one, pair in PAIRS.items()},
        "store_folder": folder / "store",
        "ports_folder": folder / "ports",
        "log_file": folder / "server.log",
        "max_store_bytes": 10_000_000,
    }
    return ServerConfig(**(values | changes))


def test_the_server_itself_accepts_the_file(tmp_path: Path) -> None:
    """nats-server's own check passes, also with a path full of characters that its language gives a meaning."""
    folder = tmp_path / 'a "b" $c # {d} \\e é'
    folder.mkdir()
    path = folder / "server.conf"
    path.write_text(render_config(config(folder)))
    check = subprocess.run([find_server_binary({}).path, "-t", "-c", path], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr


def test_the_file_holds_public_keys_only(tmp_path: Path) -> None:
    """Each identity is a user by its public key; there is no password, token or seed."""
    text = render_config(config(tmp_path))
    users = [user for account in json.loads(text)["accounts"].values() for user in account["users"]]
    assert sorted(user["nkey"] for user in users) == sorted(pair.public for pair in PAIRS.values())
    assert {key for user in users for key in user} == {"nkey", "permissions"}
    assert not any(pair.seed.decode() in text for pair in PAIRS.values())
    assert not any(word in text for word in ("password", "token", "seed"))


def test_only_loopback_is_listened_on_and_nothing_is_traced(tmp_path: Path) -> None:
    """There is no monitoring port, and the port is the kernel's choice unless one is kept."""
    content = json.loads(render_config(config(tmp_path)))
    assert content["listen"] == "127.0.0.1:-1"
    assert json.loads(render_config(config(tmp_path, port=4567)))["listen"] == "127.0.0.1:4567"
    assert not {"http", "http_port", "https", "monitor_port", "cluster", "leafnodes", "websocket"} & set(content)
    assert (content["debug"], content["trace"]) == (False, False)


@pytest.mark.parametrize(("durability", "sync"), [(Durability.FAST, None), (Durability.DURABLE, "always")])
def test_durability_decides_when_the_disk_is_synced(tmp_path: Path, durability: Durability, sync: str | None) -> None:
    """The two profiles differ in one setting of the server."""
    content = json.loads(render_config(config(tmp_path, durability=durability)))
    assert content["jetstream"].get("sync_interval") == sync


def test_a_client_that_is_gone_without_a_word_is_noticed_within_20_s(tmp_path: Path) -> None:
    """By the server's own arithmetic; its default is six minutes."""
    content = json.loads(render_config(config(tmp_path)))
    assert int(content["ping_interval"].removesuffix("s")) * (content["ping_max"] + 1) < 20


def test_storage_messages_and_logs_are_bounded(tmp_path: Path) -> None:
    """Nothing that the server keeps can grow without an end."""
    content = json.loads(render_config(config(tmp_path)))
    assert content["jetstream"]["max_file_store"] == 10_000_000
    assert content["jetstream"]["max_memory_store"] == 256 * 1024 * 1024
    assert content["max_payload"] == 1024 * 1024
    assert content["logfile_size_limit"] * content["logfile_max_num"] <= 32 * 1024 * 1024


def test_only_the_accounts_of_streams_has_jetstream(tmp_path: Path) -> None:
    """A pool's account has no JetStream of its own in which a worker could make streams."""
    accounts = json.loads(render_config(config(tmp_path)))["accounts"]
    assert [name for name, account in accounts.items() if "jetstream" in account] == ["STREAMS"]


def test_the_slowest_answer_of_a_model_still_has_its_way_back(tmp_path: Path) -> None:
    """Otherwise it is paid for and lost: the server keeps the way back, and lets the executor answer, for longer."""
    subjects = Subjects("team")
    accounts = json.loads(render_config(config(tmp_path)))["accounts"].values()
    exports = [one for account in accounts for one in account["exports"]]
    kept = [one["response_threshold"] for one in exports if one["service"] in map(subjects.model, ("alpha", "be-ta_"))]
    key = PAIRS[Executor("one")].public
    users = [user for account in accounts for user in account["users"] if user["nkey"] == key]
    kept += [user["permissions"]["allow_responses"]["expires"] for user in users]
    assert len(kept) == 3
    assert all(int(one.removesuffix("s")) > LONGEST_MODEL_ANSWER_S for one in kept)
    assert LONGEST_MODEL_ANSWER_S < TIMEOUT_S
