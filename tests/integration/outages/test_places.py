"""What the places hold that the tests of outages break: machines whose cable is cut, disks that are full."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.bounded_disk import bounded_disk
from tests.support.network_namespaces import network
from tests.support.python_commands import ROOT


async def test_a_cut_machine_hears_nothing_and_is_told_nothing() -> None:
    """What is sent meanwhile vanishes without an error and arrives once the cable is plugged in; no route leads out."""
    with network("here", "there") as net:
        loop = asyncio.get_running_loop()
        received: asyncio.Queue[bytes] = asyncio.Queue()

        async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(100):
                received.put_nowait(data)
            writer.close()

        with net["there"].entered():
            server = await asyncio.start_server(listen, net["there"].address, 7000)
        with net["here"].entered():
            _, writer = await asyncio.open_connection(net["there"].address, 7000)
            with pytest.raises(OSError, match="unreachable"):
                await loop.create_connection(asyncio.Protocol, "192.0.2.1", 7000)
        async with asyncio.timeout(40), server:
            writer.write(b"before")
            assert await received.get() == b"before"
            net.cut("there")
            writer.write(b"meanwhile")
            await writer.drain()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(received.get(), 0.5)
            assert not writer.is_closing()
            net.heal("there")
            assert await received.get() == b"meanwhile"
            writer.close()
            await writer.wait_closed()


def test_machines_leave_nothing_behind() -> None:
    """Namespaces are gone after the block, also where it failed, and this thread is where it was."""
    home = own_network()
    made: set[str] = set()
    with pytest.raises(ZeroDivisionError):
        enter_and_fail(made)
    assert len(made) == 2
    assert not made & namespaces()
    assert own_network() == home


def test_what_a_killed_test_has_left_goes_with_the_next_one(tmp_path: Path) -> None:
    """Its namespaces and its disk, which no process takes along when it dies."""
    program = (
        "import os, pathlib\n"
        "from tests.support.bounded_disk import bounded_disk\n"
        "from tests.support.network_namespaces import network\n"
        f"with network('here') as net, bounded_disk(pathlib.Path({str(tmp_path / 'left')!r}), mebibytes=1):\n"
        "    print(net.switch, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    left = killed.stdout.strip()
    assert left in namespaces()
    assert (tmp_path / "left").is_mount()
    with network("here"), bounded_disk(tmp_path / "disk", mebibytes=1):
        assert left not in namespaces()
        assert not (tmp_path / "left").is_mount()


def enter_and_fail(made: set[str]) -> None:
    home = own_network()
    with network("here") as net, net["here"].entered():
        made.update((net.switch, net["here"].namespace))
        assert made <= namespaces()
        assert own_network() != home
        raise ZeroDivisionError


def own_network() -> Path:
    return Path("/proc/thread-self/ns/net").readlink()


def namespaces() -> set[str]:
    return {entry.name for entry in Path("/run/netns").iterdir()}


def test_a_full_disk_takes_nothing_until_it_is_freed(tmp_path: Path) -> None:
    """It is full for every file in it, and only for these."""
    with bounded_disk(tmp_path / "disk", mebibytes=2) as disk:
        disk.fill()
        assert disk.free_bytes == 0
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            (disk.folder / "file").write_bytes(b"x" * 5000)
        (tmp_path / "elsewhere").write_bytes(b"x" * 5000)
        disk.free()
        (disk.folder / "file").write_bytes(b"x" * 5000)
    assert not (tmp_path / "disk" / "file").exists()
