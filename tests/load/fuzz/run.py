"""One fuzz run: a broker, one real worker process, the cases of a seed, and a census before and after."""

import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.load.fuzz.calling import CARELESS, callers
from tests.load.fuzz.cases import Case, draw_cases
from tests.load.fuzz.census import Census, Territory, resident_bytes, take_census
from tests.load.fuzz.judging import WALL_CLOCK_S, Judge, Judged
from tests.load.fuzz.own_cgroup import own_cgroup
from tests.load.hostile_toolset import write_hostile_toolset
from tests.support.sandboxes import throwaway_base
from tests.support.worker_mesh import POOL, WorkerMesh, broker_and_client
from tests.support.worker_process import worker_process

from toolmesh_broker.identities import Provisioner
from toolmesh_broker.jetstream.api import api_request
from toolmesh_broker.jetstream.connection import Connection, open_connection

AT_A_TIME = 8
BATCH = 1000
"""The memory after the first batch is what that at the end is compared with."""
GROWTH = 1.1
_UIDS = 4096
_SETTLE_S = 30.0
_SHOWN = 20
_SMALL = {
    "result_bytes": 1 << 20,
    "artifact_bytes": 1 << 20,
    "artifacts_total_bytes": 8 << 20,
    "artifacts": 50,
    "output_bytes": 1 << 20,
}


@dataclass
class Findings:
    """What a run found.

    Attributes:
        outcomes: how cases ended, by kind.
        faults: wrong outcomes, each with its case.
        hangs: cases without an answer.
        leaks: what is left over.
        memory: bytes of the worker after each batch.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    hangs: int = 0
    leaks: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """How many cases have ended."""
        return self.outcomes.total()

    @property
    def sound(self) -> bool:
        """Nothing was found."""
        return not (self.faults or self.hangs or self.leaks)

    def note(self, case: Case, judged: Judged) -> None:
        """Count a case."""
        self.outcomes[judged.label] += 1
        self.hangs += judged.hang
        if judged.fault:
            self.faults.append(f"{judged.fault}: {case}")


@dataclass(frozen=True)
class _Ground:
    """Where a run takes place."""

    mesh: WorkerMesh
    worker: asyncio.subprocess.Process
    territory: Territory
    admin: Connection
    log: Path

    async def census(self) -> Census:
        stream = self.admin.subjects.invoke_stream(POOL)
        answer = await api_request(self.admin, f"STREAM.INFO.{stream}")
        return take_census(self.territory, int(answer["state"]["messages"]))


@asynccontextmanager
async def _ground(groups: Path | None) -> AsyncIterator[_Ground]:
    with ExitStack() as stack:
        base = stack.enter_context(throwaway_base())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolmesh-fuzz-")))
        places = write_hostile_toolset(folder, WALL_CLOCK_S)
        first_uid = 1_000_000 + _UIDS * os.getpid()
        log = folder / "worker-1.log"
        async with (
            broker_and_client(folder, executors=(CARELESS,)) as mesh,
            open_connection(mesh.server.connection(Provisioner())) as admin,
            worker_process(
                mesh,
                places,
                sandbox={"work_folder": str(base), "uid_base": first_uid},
                concurrency=AT_A_TIME,
                limits=_SMALL,
            ) as worker,
        ):
            territory = Territory(worker.pid, base, range(first_uid, first_uid + _UIDS), groups)
            yield _Ground(mesh, worker, territory, admin, log)


async def fuzz(count: int, number: int) -> Findings:
    """Run the first `count` cases of seed `number`."""
    findings = Findings()
    with own_cgroup() as groups:
        async with _ground(groups) as ground, callers(ground.mesh, ground.admin) as both:
            folder = ground.mesh.folder / "loading"
            folder.mkdir()
            judge = Judge(both, folder)
            # What a worker makes once, such as threads and caches, is no leak.
            await _judge_all(judge, draw_cases(4 * AT_A_TIME, number + 1), Findings())
            before = await ground.census()
            for batch in range(-(-count // BATCH)):
                size = min(BATCH, count - batch * BATCH)
                cases = await asyncio.to_thread(draw_cases, size, number + batch)
                await _judge_all(judge, cases, findings)
                if ground.worker.returncode is not None:
                    findings.faults.append(f"the worker ended with {ground.worker.returncode}")
                    break
                findings.memory.append(resident_bytes(ground.worker.pid))
                _tell(findings)
            else:
                findings.leaks += await _left(ground, before) + _growth(findings.memory)
            findings.faults += _complaints(ground.log)
    return findings


async def _judge_all(judge: Judge, cases: Sequence[Case], findings: Findings) -> None:
    waiting = iter(cases)

    async def take_turns() -> None:
        for case in waiting:
            findings.note(case, await judge.judge(case))

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_A_TIME):
            group.create_task(take_turns())


async def _left(ground: _Ground, before: Census) -> list[str]:
    """What is still more than before once the worker had time to put things away."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + _SETTLE_S
    while leaks := (await ground.census()).leaks_since(before):
        if clock() > deadline:
            return leaks
        await asyncio.sleep(0.2)
    return []


def _growth(memory: Sequence[int]) -> list[str]:
    if memory[-1] <= GROWTH * memory[0]:
        return []
    return [f"memory: {memory[-1] >> 10} KiB, after the first {BATCH} cases {memory[0] >> 10} KiB"]


def _complaints(log: Path) -> list[str]:
    """What the worker itself says went wrong with it: errors in its log, and what is no line of it."""
    return [f"the worker's log: {line[:4000]}" for line in log.read_text(errors="replace").splitlines() if _bad(line)]


def _bad(line: str) -> bool:
    try:
        return json.loads(line)["level"] in {"error", "critical"}
    except (ValueError, KeyError, TypeError):
        return True


def _tell(findings: Findings) -> None:
    sys.stderr.write(f"fuzz: {findings.cases} cases so far, worker {findings.memory[-1] >> 10} KiB\n")


def report(findings: Findings) -> list[str]:
    """Lines for people; the last one is for scripts too."""
    lines = [f"{count:6} {label}" for label, count in sorted(findings.outcomes.items())]
    lines += [f"fault: {fault[:4000]}" for fault in findings.faults[:_SHOWN]]
    if len(findings.faults) > _SHOWN:
        lines.append(f"... and {len(findings.faults) - _SHOWN} more faults")
    lines += [f"leak: {leak[:300]}" for leak in findings.leaks[:_SHOWN]]
    if findings.memory:
        memory = ", ".join(f"{each >> 10} KiB" for each in (findings.memory[0], findings.memory[-1]))
        lines.append(f"memory of the worker after the first batch and at the end: {memory}")
    if findings.faults:
        lines.append(f"wrong: {len(findings.faults)} outcomes")
    return [*lines, f"fuzz: {findings.cases} cases, {findings.hangs} hangs, {len(findings.leaks)} leaks"]
