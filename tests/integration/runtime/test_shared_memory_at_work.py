"""Tools that use shared memory, and tools that fill what lies in memory, through a real worker."""

from pathlib import Path

import pytest
from tests.support.agent_folder import agent_folder
from tests.support.sample_toolsets import write_toolset
from tests.support.worker_mesh import broker_and_client, worker_in_process

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode

pytestmark = pytest.mark.timeout(120)

_PARALLEL = '''
import multiprocessing
from multiprocessing.shared_memory import SharedMemory

from toolmesh_sdk import ToolResult, tool_cli


def count(shared: str, lock: object) -> None:
    """Add one to the first byte of a segment, five times."""
    segment = SharedMemory(name=shared)
    for _ in range(5):
        with lock:
            segment.buf[0] += 1
    segment.close()


def parallel(numbers: list[int]) -> ToolResult:
    """Add up numbers in other processes."""
    segment = SharedMemory(create=True, size=64)
    lock = multiprocessing.Lock()
    workers = [multiprocessing.Process(target=count, args=(segment.name, lock)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    counted = segment.buf[0]
    segment.close()
    segment.unlink()
    pool = multiprocessing.Pool(2)
    total = sum(pool.map(abs, numbers))
    pool.close()
    pool.join()
    return ToolResult.ok("done", data={"total": total, "counted": counted})


cli = tool_cli(parallel)

if __name__ == "__main__":
    cli()
'''
_FLOOD = '''
import os

from toolmesh_sdk import ToolResult, tool_cli


def flood(folder: str) -> ToolResult:
    """Make a million empty files."""
    for number in range(1_000_000):
        os.close(os.open(f"{folder}/{number}", os.O_CREAT | os.O_WRONLY))
    return ToolResult.ok("all of them")


cli = tool_cli(flood)

if __name__ == "__main__":
    cli()
'''
_DECLARED = (
    "touch /dev/shm/x 2>&1; python3 -c 'import multiprocessing; multiprocessing.Lock()' 2>&1 | tail -n 1; "
    "python3 -c 'from multiprocessing.shared_memory import SharedMemory; SharedMemory(create=True, size=9)' 2>&1 | tail -n 1"
)


async def test_a_tool_works_in_parallel_on_shared_memory(tmp_path: Path) -> None:
    """Locks, a pool and a segment in `standard`, no count lost."""
    toolset = write_toolset(
        tmp_path / "tools", {"parallel": (_PARALLEL, {"sandbox_profile": "standard", "timeout_seconds": 100})}
    )
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset]):
        result = await mesh.client.call("parallel", {"numbers": [1, -2, 3]}, timeout_s=100)
    assert result.outcome is Outcome.OK, result.text()
    assert result.data == {"total": 6, "counted": 20}


@pytest.mark.requirement("sandbox:limits")
async def test_a_million_empty_files_are_one_clear_error(tmp_path: Path) -> None:
    """In either folder the call ends early and says why, and the next one finds room."""
    profile = {"sandbox_profile": "restrictive", "timeout_seconds": 60}
    toolset = write_toolset(tmp_path / "tools", {"flood": (_FLOOD, profile)})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset]):
        results = [await mesh.client.call("flood", {"folder": folder}) for folder in ("/tmp", "/dev/shm", "/tmp")]  # noqa: S108
    for result in results:
        assert result.error is not None, result
        assert result.error.code is ErrorCode.EXECUTION_ERROR
        assert "beyond its sandbox profile's limit" in result.error.message
        assert result.usage is not None
        assert result.usage.peak_memory_bytes < 512 << 20


async def test_a_declared_tool_has_no_shared_memory(tmp_path: Path) -> None:
    """No file, no lock and no segment can be made: its contract has none."""
    agent = agent_folder(tmp_path / "agent", {"share": _DECLARED})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [agent]):
        result = await mesh.client.call("share")
    assert result.text().count("Read-only file system") == 3, result.text()
