"""Tasks that wait for a person: what they cost an executor, and that each is gone on with once after a restart.

`python -m tests.load.paused_tasks [TASKS]`: the last line has the figures; 1 if a promise is not kept.
"""

import asyncio
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from tests.support.scripted_worker import Job
from tests.support.task_mesh import TaskMesh, task_mesh

from toolmesh_contracts.envelopes.reply import Result
from toolmesh_contracts.envelopes.task import Answer, Task
from toolmesh_contracts.ids import new_uuid7
from toolmesh_executor.loop.records import TaskCompleted
from toolmesh_executor.tasks.sending import TaskSender

_PROMISED_MIB: Final = 50.0
_AT_ONCE: Final = 100
_AGENT: Final = {
    "helper": {"tools": [{"tool_type": "builtin", "tool_name": "mark", "hil": {"require_approval": True}}]}
}


class Marks:
    """A tool that counts how often it ran for each task."""

    def __init__(self) -> None:
        self.runs: Counter[int] = Counter()

    async def mark(self, job: Job) -> Result:
        """Count."""
        self.runs[job.arguments["n"]] += 1
        return job.ok("marked")


async def _begin(mesh: TaskMesh, number: int, places: asyncio.Semaphore) -> str:
    """Ask a task and wait until it waits."""
    async with places:
        task = new_uuid7()
        text = f'mark {{"n": {number}}}'
        await TaskSender(mesh.broker.tasks()).start(Task(id=task, agent="helper", text=text), mesh.token())
        state = await mesh.followed(task, until="question.asked")
        assert state.questions, f"task {number} did not come to wait: {state.ended}"
        del mesh.events[task]
        return task


async def _finish(mesh: TaskMesh, task: str, places: asyncio.Semaphore) -> bool:
    """Agree, and wait for the end."""
    async with places:
        await mesh.tasks.answer(task, Answer(call="1.1", approved=True), mesh.token())
        return isinstance((await mesh.followed(task)).ended, TaskCompleted)


def _resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


@asynccontextmanager
async def kept_in_view(mesh: TaskMesh) -> AsyncIterator[None]:
    """Publish the worker's catalog again and again: an entry lives for a minute."""

    async def publish() -> None:
        while True:
            await mesh.worker.publish_catalog()
            await asyncio.sleep(20)

    async with asyncio.TaskGroup() as group:
        publishing = group.create_task(publish())
        try:
            yield
        finally:
            publishing.cancel()


async def measure(count: int) -> int:
    """Pause `count` tasks, restart the executor, let all go on; print, and return the exit code."""
    marks, places = Marks(), asyncio.Semaphore(_AT_ONCE)
    with tempfile.TemporaryDirectory(prefix="toolmesh-paused-") as folder:
        async with task_mesh(Path(folder), {"mark": marks.mark}) as mesh, kept_in_view(mesh):
            async with mesh.executor_process(_AGENT, "executor-1") as first:
                await mesh.until_known(_AGENT)
                # What a task costs that runs is not the question: it is paid once.
                warm = await asyncio.gather(*(_begin(mesh, -number, places) for number in range(1, 2 * _AT_ONCE)))
                before, began = _resident_mib(first.pid), time.monotonic()
                tasks = await asyncio.gather(*(_begin(mesh, number, places) for number in range(count)))
                paused_s, more = time.monotonic() - began, _resident_mib(first.pid) - before
                first.send_signal(signal.SIGKILL)
                await first.wait()
            began = time.monotonic()
            async with mesh.executor_process(_AGENT, "executor-2"):
                ended = await asyncio.gather(*(_finish(mesh, task, places) for task in (*tasks, *warm)))
            resumed_s = time.monotonic() - began
    once = sum(times == 1 for times in marks.runs.values())
    asked = count + len(warm)
    print(f"paused in {paused_s:.0f} s, resumed and ended in {resumed_s:.0f} s")
    print(
        f"paused-tasks: {count} tasks added {more:.1f} MiB, ended {sum(ended)} of {asked}, "
        f"each tool ran once: {once} of {asked}"
    )
    return 0 if more < _PROMISED_MIB and all(ended) and once == asked == marks.runs.total() else 1


def main() -> int:
    """Run it."""
    return asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))


if __name__ == "__main__":
    sys.exit(main())
