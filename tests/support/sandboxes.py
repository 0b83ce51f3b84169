"""Open a sandbox below a throw-away base folder and run one command in it, as this user or as another.

Run as a program it reads one JSON order from standard input and prints what became of it; that is how tests see the
sandbox of a worker that is not root.
"""

import asyncio
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.bwrap_binary import find_bwrap
from toolmesh_sandbox.limits import ResourceLimits
from toolmesh_sandbox.opening import open_backend
from toolmesh_sandbox.policy import Policy
from toolmesh_sandbox.process import Exit, Usage
from toolmesh_sandbox.profiles import profile
from toolmesh_sandbox.published import publish_tree
from toolmesh_sandbox.settings import Mode, SandboxSettings

PYTHON = "/usr/bin/python3"
UNPRIVILEGED = 65532
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
_BARE = ["/usr/bin/setpriv", "--bounding-set", "-all,+setuid,+setgid,+chown,+kill,+dac_override"]
_SOURCES = Path(sys.modules["toolmesh_sandbox.backend"].__file__ or "").parents[1]


@contextmanager
def throwaway_base() -> Iterator[Path]:
    """A base folder that every uid can pass through, which pytest's own folders are not."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="toolmesh-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def uids_of_this_process() -> dict[str, int]:
    """Settings for a sandbox with a base folder of its own.

    Uids are lent through the base folder, and a call's processes are ended by its uid: so that no two tests share one.
    """
    return {"first_uid": 61184 + 64 * (1 + os.getpid() % 63), "uid_count": 64}


@asynccontextmanager
async def sandbox(
    base: Path, mode: str = "bwrap", profiles: Sequence[str] = ("standard",), **settings: Any
) -> AsyncIterator[Backend]:
    """An opened backend."""
    settings = {**uids_of_this_process(), **settings}
    chosen = SandboxSettings(mode=Mode(mode), profiles=tuple(profiles), base=base, allow_direct=True, **settings)
    async with open_backend(chosen) as backend:
        yield backend


async def run(backend: Backend, command: str | Sequence[str], policy: Policy | None = None, stdin: bytes = b"") -> Exit:
    """Run Python code or an argument vector in a fresh workspace, to its end."""
    argv = [PYTHON, "-c", command] if isinstance(command, str) else list(command)
    async with (
        backend.workspaces.new() as workspace,
        backend.start(argv, ENVIRONMENT, policy or profile("standard"), workspace, stdin) as process,
    ):
        return await process.wait()


def processes_with(text: bytes) -> list[int]:
    """Host pids of the processes whose arguments contain this text; bubblewrap's own, which repeat it, not counted."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            line = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
            if text in line and not line.startswith(b"bwrap"):
                found.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


async def until(holds: Callable[[], bool]) -> None:
    """Look again and again until something outside this process holds, for 20 seconds at most."""
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


async def appeared(text: bytes) -> int:
    """Host pid of the process whose arguments contain this text, once it is there."""
    await until(lambda: bool(processes_with(text)))
    return processes_with(text)[0]


async def vanished(text: bytes) -> None:
    """Return once no process has this text in its arguments."""
    await until(lambda: not processes_with(text))


def policy_with(name: str = "standard", wall_clock_s: float = 20, caps: int | None = None, **limits: int) -> Policy:
    """A profile with a short wall clock, other limits and output caps."""
    policy = profile(name).with_wall_clock(wall_clock_s).with_limits(ResourceLimits(**limits))
    return dataclasses.replace(policy, stdout_bytes=caps, stderr_bytes=caps) if caps else policy


async def run_as(
    user: str, base: Path, code: str, *, name: str = "standard", mode: str = "bwrap", **limits: int
) -> Exit:
    """Run code in the sandbox of a worker that is `root` (this process), `unprivileged` or `bare root`."""
    if user == "root":
        async with sandbox(base, mode, [name]) as backend:
            return await run(backend, code, policy_with(name, **limits))
    bare = user == "bare root"
    return await asyncio.to_thread(run_apart, base, code, name=name, mode=mode, limits=limits, bare_root=bare)


def run_apart(base: Path, code: str, *, name: str, mode: str, limits: dict[str, int], bare_root: bool = False) -> Exit:
    """The same in a worker process of another uid, which reaches nothing but published copies.

    `bare_root`: it is root, with no other capabilities than the documentation asks for.
    """
    sources = publish_tree(_SOURCES, base, "src")
    support = publish_tree(Path(__file__).parent, base, "support")
    bwrap = find_bwrap(None, base)
    own = Path(tempfile.mkdtemp(dir=base, prefix="own-"))
    dropping = os.getuid() == 0 and not bare_root
    if dropping:
        os.chown(own, UNPRIVILEGED, UNPRIVILEGED)
    elif bare_root:
        own.chmod(0o755)
    order = {"base": str(own), "mode": mode, "name": name, "code": code, "bwrap": str(bwrap), "limits": limits}
    child = subprocess.run(
        [*(_BARE if bare_root else []), PYTHON, "-B", str(support / Path(__file__).name)],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        cwd="/",
        env={"PYTHONPATH": str(sources), "PATH": "/usr/bin:/bin", "WORKER_SECRET": "canary-of-the-worker"},
        **({"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []} if dropping else {}),  # type: ignore[call-overload]
    )
    assert child.returncode == 0, child.stderr
    fields = json.loads(child.stdout)
    for stream in ("stdout", "stderr"):
        fields[stream] = bytes.fromhex(fields[stream])
    return Exit(**{**fields, "usage": Usage(**fields["usage"])})


async def _obey(order: dict[str, Any]) -> dict[str, Any]:
    async with sandbox(Path(order["base"]), order["mode"], [order["name"]], bwrap=Path(order["bwrap"])) as backend:
        ended = await run(backend, order["code"], policy_with(order["name"], **order["limits"]))
    return {**dataclasses.asdict(ended), "stdout": ended.stdout.hex(), "stderr": ended.stderr.hex()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(_obey(json.load(sys.stdin)))))
