"""The embedded broker of a mesh is kept running through deaths and failed starts, and is as durable as asked for."""

import asyncio
import contextlib
import io
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.bounded_disk import BoundedDisk, bounded_disk
from tests.support.embedded_broker import eventually

from toolmesh_broker.embedded import EmbeddedServer
from toolmesh_broker.embedded.binary import find_server_binary
from toolmesh_broker.embedded.config_file import Durability
from toolmesh_broker.errors import BrokerError
from toolmesh_broker.identities import Executor, Provisioner
from toolmesh_broker.jetstream.broker import connect
from toolmesh_broker.ports import Broker
from toolmesh_cli import mesh_broker as keeping
from toolmesh_cli.mesh_broker import mesh_broker
from toolmesh_cli.mesh_options import MeshOptions
from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.ids import new_invocation_id

pytestmark = pytest.mark.timeout(90)

CLIENT = Executor("client")


@pytest.fixture
def failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a line for each of the next starts of nats-server that fail."""
    real, file, script = find_server_binary().path, tmp_path / "failures", tmp_path / "server.sh"
    file.touch()
    script.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec {real} --version\n'
        f'if [ -s {file} ]; then sed -i 1d {file}; exit 1; fi\nexec {real} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("NATS_SERVER_BIN", str(script))
    return file


def fail_next(failures: Path, times: int) -> None:
    failures.write_text("again\n" * times)


@contextlib.asynccontextmanager
async def kept_broker(
    folder: Path, durability: Durability = Durability.FAST
) -> AsyncIterator[tuple[EmbeddedServer, io.StringIO]]:
    """A broker of a mesh, and what is told of it."""
    told = io.StringIO()
    options = MeshOptions(tools=(), data_folder=folder, durability=durability)
    async with mesh_broker(options, [CLIENT], Terminal(told)) as server:
        assert isinstance(server, EmbeddedServer)
        yield server, told


async def kill_and_wait(server: EmbeddedServer, told: io.StringIO, times: int) -> None:
    os.kill(server.pid, signal.SIGKILL)
    await eventually(lambda: told.getvalue().count("runs again") == times, "the next start", 30)


async def test_starts_that_fail_are_tried_again(tmp_path: Path, failures: Path) -> None:
    """Two failed starts are told, and the third one serves on the same address."""
    async with kept_broker(tmp_path / "data") as (server, told):
        fail_next(failures, 2)
        await kill_and_wait(server, told, 1)
        assert told.getvalue().count("the broker does not start") == 2
        assert "next try in 0.4 s" in told.getvalue()
        async with connect(server.connection(CLIENT)) as client:
            assert client.connected


async def test_a_broker_that_never_starts_again_ends_the_mesh(
    tmp_path: Path, failures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounded, and with the server's error."""
    monkeypatch.setattr(keeping, "_STARTS", 3)
    with pytest.RaisesGroup(pytest.RaisesExc(BrokerError, match="ended before it was ready")):
        async with kept_broker(tmp_path / "data") as (server, _):
            fail_next(failures, 10)
            os.kill(server.pid, signal.SIGKILL)
            await asyncio.Event().wait()


async def test_the_pause_before_a_start_is_short_again_after_a_healthy_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It grows only while the broker keeps dying."""
    async with kept_broker(tmp_path / "data") as (server, told):
        await kill_and_wait(server, told, 1)
        await kill_and_wait(server, told, 2)
        monkeypatch.setattr(keeping, "_HEALTHY_AFTER_S", 0.0)
        await kill_and_wait(server, told, 3)
    pauses = [line.rpartition("again in ")[2] for line in told.getvalue().splitlines() if "starts again" in line]
    assert pauses == ["0.2 s", "0.4 s", "0.2 s"]


@pytest.mark.parametrize(("durability", "interval"), [(Durability.FAST, None), (Durability.DURABLE, "always")])
async def test_durable_syncs_every_write(tmp_path: Path, durability: Durability, interval: str | None) -> None:
    """The server runs with the setting that `--durability` stands for."""
    async with kept_broker(tmp_path / "data", durability) as (server, _):
        config = json.loads((tmp_path / "data" / "nats-server.conf").read_text())
        assert config["jetstream"].get("sync_interval") == interval
        async with connect(server.connection(CLIENT)) as client:
            assert client.connected


async def stores(client: Broker) -> bool:
    """Whether a mark in the ledger is kept; one of many pages, since a small one still fits into the last page."""
    key = client.subjects.call_key("default", new_invocation_id())
    try:
        async with asyncio.timeout(2):
            await client.keyvalue(client.subjects.ledger_bucket()).put(key, os.urandom(60_000), 60)
    except (BrokerError, TimeoutError):
        return False
    return True


async def test_a_disk_that_was_full_is_told_and_written_again(tmp_path: Path) -> None:
    """nats-server itself never recovers from a failed write, and says nothing to who waits."""
    with bounded_disk(tmp_path / "disk", mebibytes=24) as disk:
        await fill_and_free(disk)


async def fill_and_free(disk: BoundedDisk) -> None:
    data = disk.folder / "data"
    async with (
        kept_broker(data) as (server, told),
        connect(server.connection(Provisioner())) as provisioner,
        provisioner.provisioned(("default",)),
        connect(server.connection(CLIENT)) as client,
    ):
        assert await stores(client)
        disk.fill()
        assert not await stores(client)
        await eventually(lambda: f"the disk of {data} is full" in told.getvalue(), "a warning", 20)
        disk.free()
        await eventually(lambda: "runs again" in told.getvalue(), "a new start", 20)
        async with asyncio.timeout(30):
            while not await stores(client):
                pass
    assert told.getvalue().count("is full") == 1
    assert told.getvalue().count("starts again in") == 1
