"""Run the rows of an attack file that have code, each in a sandbox of its own, and say which did not hold.

    python -m tests.attacks.runner [--file FILE] [--as root|65532] [--profile NAME ...]

Every row runs through the real backend `bwrap`, which refuses to open unless its self-test holds; there is no way here to
run one without it. Rows of kind `host` have no code: they are bound to tests by `host_rows`.
"""

import argparse
import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Any

from tests.attacks.rows import GIVEN, Row, read_rows, with_code
from tests.attacks.stage import Stage, staged
from tests.attacks.verdicts import ALONE, CAP_BYTES, Run, look_midway, processes_of, resident_bytes, verdict

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.bwrap_binary import find_bwrap
from toolmesh_sandbox.limits import ResourceLimits
from toolmesh_sandbox.opening import open_backend
from toolmesh_sandbox.policy import Policy
from toolmesh_sandbox.process import Exit
from toolmesh_sandbox.profiles import profile
from toolmesh_sandbox.published import publish_files, publish_tree
from toolmesh_sandbox.settings import SandboxSettings
from toolmesh_sandbox.tree_removal import remove_tree
from toolmesh_sandbox.workspaces import Workspace

UNPRIVILEGED = 65532
PROFILES = ("declared", "restrictive", "standard", "permissive")
_PYTHON = "/usr/bin/python3"
_TIMEOUT_S = 10
_MIDWAY_S = 0.45
_AT_A_TIME = 3
_TRIES = 3
_SOURCES = Path(sys.modules["toolmesh_sandbox.backend"].__file__ or "").parents[1]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One row under one profile; `wrong` is empty when it held."""

    id: str
    profile: str
    wrong: str
    known_limit: bool = False
    stdout: str = ""


def policy_for(row: Row, name: str, stage: Stage) -> Policy:
    """The product's policy of that name, changed only by what the row's fields say."""
    policy = profile(name).with_mounts(*stage.mounts).with_wall_clock(row.get("timeout") or _TIMEOUT_S)
    if "lim" in row:
        policy = policy.with_limits(ResourceLimits(max_cpu_seconds=row["lim"]["cpu"]))
    return dataclasses.replace(policy, folder=PurePosixPath("/data"), stdout_bytes=CAP_BYTES, stderr_bytes=CAP_BYTES)


async def run_row(backend: Backend, stage: Stage, row: Row, name: str) -> Outcome:
    """Run one row under one profile."""
    policy = policy_for(row, name, stage)
    check = row.get("host_check")
    async with backend.workspace(policy) as workspace:
        with ExitStack() as stack:
            secret = stack.enter_context(stage.secret(workspace.uid))
            wants_neighbour = "HOST_PID" in row["code"] or str(check).startswith("canary")
            host_pid = stack.enter_context(stage.neighbour(workspace.uid)) if wants_neighbour else 1
            code = stage.head(host_pid, secret) + row["code"]
            before, began = resident_bytes(), time.monotonic()
            ended, midway = await _call(backend, policy, workspace, [_PYTHON, "-c", code], row)
            if check == "next_call":
                await _call(backend, policy, workspace, ["/bin/sh", "-c", "echo second"], {})
            run = Run(
                row=row,
                ended=ended,
                seconds=time.monotonic() - began,
                timeout_s=policy.wall_clock_s,
                code=code,
                workspace=workspace,
                host_pid=host_pid,
                secret=secret,
                grown_bytes=resident_bytes() - before,
                midway=midway,
            )
            wrong = await verdict(run)
    known = bool(wrong) and row.get("severity") == "known-limit" and os.getuid() != 0
    said = (run.stdout + ended.stderr.decode(errors="replace"))[-500:]
    return Outcome(row["id"], name, wrong, known, said if wrong else "")


async def _call(backend: Backend, policy: Policy, workspace: Workspace, argv: list[str], row: Row) -> tuple[Exit, str]:
    home = str(backend.inside(workspace))
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": home,
        "TMPDIR": home,
        "VESSEL_OUTBOX": str(backend.outbox(workspace)),
    }
    stdin = b"x" * (row["stdin_mb"] << 20) if "stdin_mb" in row else b'{"a":1}'
    midway = ""
    async with backend.start(argv, env, policy, workspace, stdin) as process:
        if row.get("host_check") in {"pipe_size", "inotify_ok"}:
            await asyncio.sleep(_MIDWAY_S)
            midway = look_midway(row["host_check"])
        return await process.wait(), midway


def _settings(base: Path, bwrap: Path | None, profiles: tuple[str, ...]) -> SandboxSettings:
    """With uids of its own, as this base folder's locks are known to no other worker."""
    first_uid = 61184 + 64 * (1 + os.getpid() % 63)
    return SandboxSettings(base=base, bwrap=bwrap, profiles=profiles, first_uid=first_uid, uid_count=64)


async def run_rows(file: Path, base: Path, bwrap: Path | None, profiles: tuple[str, ...]) -> list[Outcome]:
    """Run every row with code: under `declared`, and those for any profile under the others too."""
    rows = with_code(read_rows(file))
    jobs = [(row, name) for name in profiles for row in rows if name == "declared" or row["profile"] == "any"]
    alone = [job for job in jobs if ALONE.fullmatch(job[0].get("host_check", ""))]
    together = [job for job in jobs if job not in alone]
    async with staged(base) as stage, open_backend(_settings(base, bwrap, profiles)) as backend:
        gate = asyncio.Semaphore(_AT_A_TIME)

        async def one(row: Row, name: str) -> Outcome:
            async with gate:
                return await run_row(backend, stage, row, name)

        outcomes = list(await asyncio.gather(*(one(*job) for job in together)))
        for row, name in alone:
            if row["host_check"] == "dies_with_worker":
                outcomes.append(await _dies_with_worker(file, row, base, bwrap))
            else:
                outcomes.append(await _timed(backend, stage, row, name))
    return outcomes


async def _timed(backend: Backend, stage: Stage, row: Row, name: str) -> Outcome:
    """A row that is judged by a clock is tried again, as a busy machine can spoil a try."""
    for _ in range(_TRIES):
        outcome = await run_row(backend, stage, row, name)
        if not outcome.wrong:
            break
    return outcome


async def _dies_with_worker(file: Path, row: Row, base: Path, bwrap: Path | None) -> Outcome:
    """Start the row in a worker of its own, kill that, and look whether anything of the call is left."""
    marker = row["code"].encode()
    command = [sys.executable, "-B", "-m", "tests.attacks.runner", "--hold", row["id"]]
    command += ["--file", str(file), "--base", str(base), *(["--bwrap", str(bwrap)] if bwrap else [])]
    worker = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL)
    try:
        async with asyncio.timeout(20):
            while len(processes_of(marker)) < 3:  # bubblewrap, its first process, the tool
                await asyncio.sleep(0.05)
        await asyncio.sleep(1)
        started = bool(processes_of(marker))
    finally:
        worker.kill()
        await worker.wait()
    await asyncio.sleep(0.3)
    left = processes_of(marker)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return Outcome(row["id"], "declared", "" if started and not left else f"{started=}, processes {left} were left")


async def _hold(file: Path, identifier: str, base: Path, bwrap: Path | None) -> None:
    row = next(row for row in with_code(read_rows(file)) if row["id"] == identifier)
    async with staged(base) as stage, open_backend(_settings(base, bwrap, ("declared",))) as backend:
        await run_row(backend, stage, row, "declared")


def run_as(user: str, file: Path = GIVEN, profiles: tuple[str, ...] = PROFILES) -> list[Outcome]:
    """Run a file in a worker process that is `root`, who drops to a uid for each call, or has the uid 65532."""
    if user == "root" and os.getuid() != 0:
        raise PermissionError("only root can be root")
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="toolmesh-attacks-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shared = folder / "shared"
        shared.mkdir()
        here = Path(__file__).parent
        files = {f"tests/attacks/{path.name}": path for path in here.glob("*.py")}
        tests = publish_files({**files, "rows.jsonl": file}, shared, "attacks")
        sources = publish_tree(_SOURCES, shared, "src")
        base = folder / "base"
        base.mkdir()
        become: dict[str, Any] = {}
        if user != "root" and os.getuid() == 0:
            os.chown(base, UNPRIVILEGED, UNPRIVILEGED)
            become = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
        command = [_PYTHON, "-B", "-m", "tests.attacks.runner", "--json", "--file", str(tests / "rows.jsonl")]
        command += ["--base", str(base), "--bwrap", str(find_bwrap(None, shared)), "--profile", *profiles]
        child = subprocess.run(
            command,
            cwd=tests,
            env={"PYTHONPATH": f"{tests}:{sources}", "PATH": "/usr/bin:/bin", "TMPDIR": name},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            **become,
        )
        remove_tree(base)
    if child.returncode != 0:
        raise AssertionError(child.stderr)
    return [Outcome(**fields) for fields in json.loads(child.stdout)]


def summary(outcomes: list[Outcome]) -> list[str]:
    """Lines for people: what did not hold, known limits, and the count of rows last; a row holds under every profile."""
    lines = [
        f"{each.id} under {each.profile}: {each.wrong}" for each in outcomes if each.wrong and not each.known_limit
    ]
    lines += [f"{each.id} under {each.profile}: known limit: {each.wrong}" for each in outcomes if each.known_limit]
    judged = {each.id for each in outcomes} - {each.id for each in outcomes if each.known_limit}
    held = judged - {each.id for each in outcomes if each.wrong}
    return [*lines, f"attacks: {len(held)} of {len(judged)} held"]


def _main() -> int:
    parser = argparse.ArgumentParser(prog="attacks", description="Run the rows with code of an attack file.")
    parser.add_argument("--file", type=Path, default=GIVEN)
    parser.add_argument("--as", dest="user", default="root" if os.getuid() == 0 else str(UNPRIVILEGED))
    parser.add_argument("--profile", nargs="*", default=PROFILES)
    for hidden in ("--base", "--bwrap"):
        parser.add_argument(hidden, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--hold", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.hold:
        asyncio.run(_hold(asked.file, asked.hold, asked.base, asked.bwrap))
        return 0
    if asked.json:
        outcomes = asyncio.run(run_rows(asked.file, asked.base, asked.bwrap, tuple(asked.profile)))
        sys.stdout.write(json.dumps([dataclasses.asdict(each) for each in outcomes]))
        return 0
    outcomes = run_as(asked.user, asked.file, tuple(asked.profile))
    sys.stdout.write("\n".join(summary(outcomes)) + "\n")
    return int(any(each.wrong and not each.known_limit for each in outcomes))


if __name__ == "__main__":
    sys.exit(_main())
