"""A person waits for a call and its mesh goes away: told at once, never left hanging, and nothing is lost that came back."""

import asyncio
import re
import signal
from pathlib import Path

import pytest
from tests.support.running_mesh import Finished, RunningMesh, running_mesh, start_toolmesh
from tests.support.sample_toolsets import ECHO, SLEEPING, write_toolset

from toolmesh_broker.embedded.descriptor import find_running

pytestmark = pytest.mark.timeout(240)

_LOST = "warning: the connection to the broker is lost; trying again"


class _Waiting:
    """`toolmesh call sleep` whose tool runs, and what it has printed since."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said = ""

    @classmethod
    async def of(cls, mesh: RunningMesh, seconds: float, *options: str) -> "_Waiting":
        arguments = ("call", "sleep", "--args", f'{{"seconds": {seconds}}}', *options)
        waiting = cls(await start_toolmesh(*arguments, data_folder=mesh.data_folder))
        await waiting.until("sleeping")
        return waiting

    async def until(self, text: str) -> None:
        """Reads on until `text` was printed."""
        assert self.process.stderr is not None
        async with asyncio.timeout(30):
            while text not in self.said:
                line = await self.process.stderr.readline()
                assert line, self.said
                self.said += line.decode()

    async def end(self) -> Finished:
        async with asyncio.timeout(60):
            stdout, stderr = await self.process.communicate()
        assert self.process.returncode is not None
        return Finished(self.process.returncode, stdout.decode(), self.said + stderr.decode())


def _tools(folder: Path, *, idempotent: bool = False) -> Path:
    keys = {"timeout_seconds": 60, "idempotent": idempotent, "max_attempts": 3 if idempotent else 1}
    return write_toolset(folder / "samples", {"echo": (ECHO, {}), "sleep": (SLEEPING, keys)})


async def test_a_mesh_that_ended_ends_the_calls_of_who_waits(tmp_path: Path) -> None:
    """Ctrl-C twice on `up`: the loss is told, then the end, with exit code 3 and how to find the result; which works."""
    tools, data = _tools(tmp_path), tmp_path / "data"
    async with running_mesh([tools], data_folder=data) as mesh:
        waiting = await _Waiting.of(mesh, 50)
        mesh.process.send_signal(signal.SIGINT)
        while not any(line.startswith("stopping") for line in mesh.progress):
            await asyncio.sleep(0.02)
        mesh.process.send_signal(signal.SIGINT)
        assert await mesh.process.wait() == 130
        await waiting.until(_LOST)
        ended = await waiting.end()
    assert (ended.code, ended.stdout) == (3, ""), ended.stderr
    assert f"toolmesh in {data} has ended; waiting 10 s for it to be started again" in ended.stderr
    assert "error [BROKER_UNREACHABLE]" in ended.stderr
    assert "whether 'sleep' ran, or still runs, is unknown" in ended.stderr
    command = re.search(r"`toolmesh (result [^`]+)`", ended.stderr)
    assert command is not None, ended.stderr

    async with running_mesh([tools], data_folder=data) as mesh:
        async with asyncio.timeout(40):
            while "is gone" in (found := await mesh.toolmesh(*command[1].split())).stderr:
                pass
        assert found.code == 1, found.stderr
        assert "error [WORKER_LOST]" in found.stderr
        unknown = await mesh.toolmesh("result", "019ad1f0-7c5e-7d5b-9a53-1d2b8f1c7e44", "--json")
        assert (unknown.code, "holds no result" in unknown.stdout) == (1, True), unknown


async def test_a_call_outlives_a_killed_mesh_that_is_started_again(tmp_path: Path) -> None:
    """Kill -9 on `up`, and the next one on the same data folder: the waiting call is found again and gets its result."""
    tools, data = _tools(tmp_path, idempotent=True), tmp_path / "data"
    async with running_mesh([tools], data_folder=data) as mesh:
        waiting = await _Waiting.of(mesh, 3)
        mesh.process.kill()
        await mesh.process.wait()
        await waiting.until(_LOST)
    async with running_mesh([tools], data_folder=data):
        ended = await waiting.end()
    assert (ended.code, ended.stdout) == (0, "slept 3.0 s\n"), ended.stderr
    assert "connected to the broker again" in ended.stderr


async def test_a_mesh_that_is_back_elsewhere_is_not_waited_for(tmp_path: Path) -> None:
    """Another program has the port: the call can't follow, and says so instead of trying until its deadline."""
    tools, data = _tools(tmp_path), tmp_path / "data"
    async with running_mesh([tools], data_folder=data) as mesh:
        waiting = await _Waiting.of(mesh, 50)
        port = int(find_running(data).url.rpartition(":")[2])
        mesh.process.kill()
        await mesh.process.wait()
        await waiting.until("has ended")
    squatter = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", port)
    async with squatter, running_mesh([tools], data_folder=data):
        ended = await waiting.end()
    assert ended.code == 3, ended.stderr
    assert "its broker is at nats://127.0.0.1:" in ended.stderr
