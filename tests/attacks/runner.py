"""Run the rows of an attack file that have code, each through a real broker and worker, and say which did not hold.

    python -m tests.attacks.runner [--file FILE] [--as root|65532] [--profile NAME ...] [--json]

The worker is a process of its own that is started as this user, with its configuration file; its sandbox refuses to open
unless its self-test holds, so there is no way here to run a row without one. Rows of kind `host` have no code: they are
bound to tests by `bindings`.
"""

import argparse
import asyncio
import dataclasses
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from tests.attacks.meeting import processes_of
from tests.attacks.row_run import Place, met_while, row_run
from tests.attacks.row_tools import PROFILES, RowCall, calls_of, write_agent, write_toolset
from tests.attacks.rows import GIVEN, read_rows, with_code
from tests.attacks.stage import staged
from tests.attacks.verdicts import BY_A_CLOCK, verdict
from tests.support.python_commands import other_user
from tests.support.worker_mesh import broker_and_client
from tests.support.worker_process import worker_process

UNPRIVILEGED = 65532
_TIME_LIMIT_S = 600
_TRIES = 6
_PAUSE_S = 2.0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One row under one profile; `wrong` is empty when it held.

    Attributes:
        known_limit: It did not hold, as is known of a worker like this one, or it is for information only.
        stdout: The end of what it printed, where it did not hold.
        uids: Users that its processes were seen to have.
    """

    id: str
    profile: str
    wrong: str
    known_limit: bool = False
    stdout: str = ""
    uids: Sequence[int] = ()


async def run_rows(file: Path, profiles: Sequence[str], folder: Path) -> list[Outcome]:
    """Run every row with code, one after another: under `declared`, and those for any profile under the others too.

    Args:
        file: The rows.
        profiles: Those to run them under.
        folder: A throw-away folder that every user can enter.
    """
    calls = calls_of(with_code(read_rows(file)), profiles)
    own = folder / "mesh"
    own.mkdir(mode=0o700)
    async with staged(folder) as stage, broker_and_client(own, workers=("worker-1", "worker-2")) as mesh:
        served = [write_agent(stage, calls)]
        if any(not call.declared for call in calls):
            served.append(write_toolset(folder / "toolset", calls))

        @asynccontextmanager
        async def worker(name: str) -> AsyncIterator[Place]:
            sandbox = {"work_folder": str(folder / f"sandbox-{name}"), "uid_base": _first_uid(), "uid_count": 64}
            running = worker_process(
                mesh, served, name, inherited=[stage.secret_descriptor], concurrency=1, sandbox=sandbox
            )
            async with running as process:
                yield Place(mesh.client, stage, process.pid)

        deadly = [call for call in calls if call.row.get("host_check") == "dies_with_worker"]
        async with worker("worker-1") as place:
            outcomes = [await _judged(place, call) for call in calls if call not in deadly]
        outcomes += [await _dies_with_worker(worker("worker-2"), call) for call in deadly]
    return outcomes


def _first_uid() -> int:
    """Uids of its own, as this run's locks are known to no other worker."""
    return 61184 + 64 * (1 + os.getpid() % 63)


async def _judged(place: Place, call: RowCall) -> Outcome:
    """Run a row; where a busy machine can have spoilt a try, but never after an escape, it is tried again."""
    by_a_clock = call.row.get("host_check") in BY_A_CLOCK
    for left in reversed(range(_TRIES)):
        async with row_run(place, call) as run:
            wrong = await verdict(run)
            if not wrong or not left or "ESCAPED" in run.stdout or not (by_a_clock or run.timed_out):
                break
        # What keeps the CPUs from a tool of low priority may pass.
        await asyncio.sleep(_PAUSE_S * (_TRIES - left))
    severity = call.row.get("severity")
    known = severity == "info" or (severity == "known-limit" and os.getuid() != 0)
    uids = sorted(run.met.uids) if run.met is not None else []
    said = run.stdout[-500:] if wrong else ""
    return Outcome(call.row["id"], call.profile, wrong, bool(wrong) and known, said, uids)


async def _dies_with_worker(worker: AbstractAsyncContextManager[Place], call: RowCall) -> Outcome:
    """Start a row in a worker of its own, kill that, and look whether anything of the call is left."""
    marker = call.marker.encode()
    async with worker as place:
        calling = asyncio.create_task(place.client.call(call.tool, call.arguments))
        try:
            met = await met_while(calling, call)
            if met is None:
                return Outcome(call.row["id"], call.profile, f"it did not run: {calling.result().error}")
            with place.stage.neighbour(met.uid) as neighbour:
                met.tell(place.stage.head(neighbour))
                await asyncio.sleep(1)
                started = len(processes_of(marker))
                os.kill(place.worker, signal.SIGKILL)
                await asyncio.sleep(0.3)
            left = processes_of(marker)
        finally:
            calling.cancel()
            await asyncio.wait({calling})
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    wrong = "" if started and not left else f"{started=}, processes {left} were left"
    return Outcome(call.row["id"], call.profile, wrong, uids=sorted(met.uids))


def summary(outcomes: list[Outcome]) -> list[str]:
    """Lines for people: what did not hold, known limits, users, and the count of rows last; a row holds everywhere."""
    lines = [
        f"{each.id} under {each.profile}: {each.wrong}{f': {each.stdout!r}' if each.stdout else ''}"
        for each in outcomes
        if each.wrong and not each.known_limit
    ]
    lines += [f"{each.id} under {each.profile}: known limit: {each.wrong}" for each in outcomes if each.known_limit]
    seen = sorted({uid for each in outcomes for uid in each.uids})
    span = f"{seen[0]} to {seen[-1]}" if seen else "nobody"
    lines.append(f"the worker was user {os.getuid()}, the processes of {len(outcomes)} calls were seen as {span}")
    judged = {each.id for each in outcomes} - {each.id for each in outcomes if each.known_limit}
    held = judged - {each.id for each in outcomes if each.wrong}
    return [*lines, f"attacks: {len(held)} of {len(judged)} held"]


def _main() -> int:
    parser = argparse.ArgumentParser(prog="attacks", description="Run the rows with code of an attack file.")
    parser.add_argument("--file", type=Path, default=GIVEN)
    parser.add_argument("--as", dest="user", help="start the worker as root or 65532; needs root")
    parser.add_argument("--profile", nargs="*", choices=PROFILES, default=PROFILES)
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    asked = parser.parse_args()
    if asked.user is not None and os.getuid() != 0:
        parser.error("--as needs root")
    if asked.user not in {None, "root"}:
        return _run_as(int(asked.user), asked)
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="toolmesh-attacks-") as name:
        Path(name).chmod(0o755)
        outcomes = asyncio.run(run_rows(asked.file, asked.profile, Path(name)))
    if asked.json:
        sys.stdout.write(json.dumps([dataclasses.asdict(each) for each in outcomes]))
    else:
        sys.stdout.write("\n".join(summary(outcomes)) + "\n")
    return int(any(each.wrong and not each.known_limit for each in outcomes))


def _run_as(uid: int, asked: argparse.Namespace) -> int:
    with other_user(uid) as user:
        arguments = [
            "--file",
            str(user.copy(asked.file)),
            "--profile",
            *asked.profile,
            *(["--json"] if asked.json else []),
        ]
        return user.run("tests.attacks.runner", *arguments, timeout_s=_TIME_LIMIT_S)


if __name__ == "__main__":
    sys.exit(_main())
