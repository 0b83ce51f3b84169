"""Prove the promises of a policy by attacking them from inside, with `probe_program`."""

import asyncio
import dataclasses
import fcntl
import json
import os
import secrets
import socket
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.bwrap_argv import own_folders
from toolmesh_sandbox.errors import SandboxError, SandboxUnavailableError
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.limits import MEBIBYTE, affordable
from toolmesh_sandbox.policy import SHARED_INSIDE, TMP_INSIDE, Mount, Network, Policy, Storage
from toolmesh_sandbox.process import Exit
from toolmesh_sandbox.self_test_report import ProfileReport, Promise
from toolmesh_sandbox.settings import Mode

PYTHON = "/usr/bin/python3"
_PROGRAM = Path(__file__).with_name("probe_program.py").read_text(encoding="utf-8")
_PROBE_S = 10.0
_LINGER_S = 0.3
_HOG_LIMIT_BYTES = 48 * MEBIBYTE
_HOG_BYTES = 96 * MEBIBYTE
_LITTER_LIMIT = 200
_LITTER = 300
_AT_ONCE = 4
_CANARY = ".canary-"
"""Sandboxes. Most of them wait most of their time."""
_READ_ONLY = ("", "/usr", "/usr/bin", "/etc", "/dev", "/proc", "/bin", "/lib", "/var", "/opt")
_SECRETS = ("/etc/shadow", "/root/.ssh/id_rsa", "/root/.bashrc", "/run/secrets/kubernetes.io/serviceaccount/token")
_MISSING = {
    "system calls": "seccomp filters (CONFIG_SECCOMP_FILTER)",
    "socket families": "seccomp filters (CONFIG_SECCOMP_FILTER)",
    "processes": "pid namespaces (CONFIG_PID_NS) and a fresh /proc",
    "network": "network namespaces (CONFIG_NET_NS)",
    "disk": "tmpfs with size and nr_inodes in user namespaces",
    "number of files": "a /proc in which the worker sees its tools (mount option hidepid)",
    "memory": "a writable memory cgroup, or a readable /proc",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Canary:
    """Things of the worker that no tool may get at, made for the time of the proof."""

    secret: Path
    port: int


class SetupFailedError(SandboxUnavailableError):
    """The sandbox did not start; the message is what it said."""


async def prove(backend: Backend, policies: Sequence[Policy], base: Path) -> tuple[ProfileReport, ...]:
    """Attack everything that policies promise under a backend, side by side.

    Raises:
        SetupFailedError: the sandbox did not start at all.
        SandboxError: it could not be had.
    """
    results = await prove_each(backend, policies, base)
    for result in results.values():
        if isinstance(result, SandboxError):
            raise result
    return tuple(result for result in results.values() if isinstance(result, ProfileReport))


async def prove_each(
    backend: Backend, policies: Sequence[Policy], base: Path
) -> dict[str, ProfileReport | SandboxError]:
    """The same, where one that can't be started does not keep the others from being proved; by profile."""
    with ExitStack() as stack:
        prover = _Prover(backend, _canary(stack, base))
        async with asyncio.TaskGroup() as group:
            tasks = {policy.profile: group.create_task(prover.report(policy)) for policy in policies}
    return {name: task.result() for name, task in tasks.items()}


def _first(failures: BaseExceptionGroup[SandboxError]) -> SandboxError:
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, BaseExceptionGroup) else failure


def _canary(stack: ExitStack, base: Path) -> Canary:
    _sweep_canaries(base)
    secret = base / f"{_CANARY}{secrets.token_hex(4)}"
    unlocked = secret.with_name(f"new{secret.name}")
    descriptor = os.open(unlocked, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    stack.callback(os.close, descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # goes with this process: what is not locked was left by a dead one
    unlocked.rename(secret)
    stack.callback(secret.unlink, missing_ok=True)
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    shared = Path(SHARED_INSIDE) / secret.name
    with suppress(OSError):  # a host without shared memory has none to hide
        shared.touch(mode=0o666)
        stack.callback(shared.unlink, missing_ok=True)
    return Canary(secret=secret, port=listener.getsockname()[1])


def _sweep_canaries(base: Path) -> None:
    """Remove what killed workers have left."""
    for left in base.glob(f"{_CANARY}*"):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (Path(SHARED_INSIDE) / left.name).unlink(missing_ok=True)
            left.unlink(missing_ok=True)


def _promises(backend: Backend, policy: Policy) -> list[str]:
    """What is promised at the backend's level, and so tried."""
    level = backend.level
    names = ["environment", "descriptors", "privileges"]
    if level <= Level.LIMITS_ONLY:
        names.append("limits")
    if level <= Level.FILTER_ONLY:
        names += ["system calls", "socket families"]
        names += [] if policy.sessions else ["sessions"]
    if level <= Level.NO_PROC:
        names += ["processes", "secrets", "writes"]
        names += ["network"] if policy.network is Network.NONE else []
        names += ["disk"] if policy.tmp or policy.storage is Storage.MEMORY else []
        names += ["shared memory"] if policy.shared_memory else []
    return names


class _Prover:
    """Attacks policies under one backend, a few sandboxes at a time."""

    def __init__(self, backend: Backend, canary: Canary) -> None:
        self._backend = backend
        self._canary = canary
        self._turns = asyncio.Semaphore(min(_AT_ONCE, backend.workspaces.most or _AT_ONCE))

    async def report(self, policy: Policy) -> ProfileReport | SandboxError:
        """What became of a policy's promises, or why they could not be tried."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(attack) for attack in self._attacks(policy)]
        except* SandboxError as failures:
            failure = _first(failures)
        else:
            promises = tuple(promise for task in tasks for promise in task.result())
            return ProfileReport(profile=policy.profile, promises=promises)
        return failure

    def _attacks(self, policy: Policy) -> list[Coroutine[Any, Any, list[Promise]]]:
        """All attacks, each in a sandbox of its own."""
        attacks = [self._probe(policy), self._wall_clock(policy)]
        if self._backend.mode is not Mode.DIRECT:
            attacks.append(self._memory(policy))
        if self._backend.mode is Mode.BWRAP and own_folders(policy):
            attacks.append(self._files(policy))
        return attacks

    async def _probe(self, policy: Policy) -> list[Promise]:
        names = _promises(self._backend, policy)
        order = self._order(policy, names)
        ended = await self._run(policy.with_wall_clock(_PROBE_S), json.dumps(order))
        try:
            found: dict[str, str] = json.loads(ended.stdout)
        except ValueError:
            said = ended.stderr.decode(errors="replace").strip()
            killed = "for its files" if ended.out_of_disk else "for its memory" if ended.out_of_memory else ended.killed
            raise SetupFailedError(
                f"the probe ended with {ended.code=} {ended.signal=} {ended.timed_out=} {killed=} {said}"
            ) from None
        return [_promise(name, found.get(name, "was not tried")) for name in names]

    def _order(self, policy: Policy, names: list[str]) -> dict[str, Any]:
        exact = policy.exact_environment or self._backend.mode is not Mode.BWRAP
        read_only = [*_READ_ONLY, *([] if policy.shared_memory else [SHARED_INSIDE])]
        return {
            "promises": names,
            "names": ["PATH", "LANG", *([] if exact else ["PWD"])],
            "alone": self._backend.level <= Level.NO_PROC,
            "host_pids": [os.getpid()],
            "processes": 3,
            "secrets": [*_SECRETS, str(self._canary.secret)],
            "read_only": [*read_only, *(str(mount.target) for mount in policy.mounts if mount.read_only)],
            "bounded": [*([TMP_INSIDE] if policy.tmp else []), *(["/work", "/outbox"] if _in_memory(policy) else [])],
            "disk_bytes": policy.limits.disk_bytes,
            "disk_files": policy.limits.disk_files if _in_memory(policy) else 2**63,
            "shared_bytes": policy.limits.shared_bytes,
            "shared_name": f"toolmesh-{secrets.token_hex(4)}",
            "port": self._canary.port,
            "limits": {limit.name: (limit.soft, limit.hard) for limit in affordable(policy.limits.rlimits())},
        }

    async def _files(self, policy: Policy) -> list[Promise]:
        """Make more files than a limit lowered for this purpose, in each folder by itself."""
        limits = dataclasses.replace(policy.limits, disk_files=_LITTER_LIMIT)
        lowered = dataclasses.replace(policy, limits=limits, wall_clock_s=_PROBE_S)
        kept = []
        for folder in own_folders(policy):
            ended = await self._run(lowered, "litter", folder, str(_LITTER))
            kept += [] if ended.out_of_disk else [f"{_LITTER} files could be kept in {folder}"]
        return [_promise("number of files", "; ".join(kept))]

    async def _memory(self, policy: Policy) -> list[Promise]:
        """Take more than a limit lowered for this purpose."""
        limits = dataclasses.replace(policy.limits, memory_bytes=_HOG_LIMIT_BYTES)
        lowered = dataclasses.replace(policy, limits=limits, wall_clock_s=_PROBE_S)
        ended = await self._run(lowered, "hog", str(_HOG_BYTES))
        wrong = "" if ended.out_of_memory else f"nothing ended a tool that takes {_HOG_BYTES} bytes"
        return [_promise("memory", wrong, f"by {self._backend.memory_bound}")]

    async def _wall_clock(self, policy: Policy) -> list[Promise]:
        """Stay, deaf and with a child, beyond the time limit."""
        ended = await self._run(policy.with_wall_clock(_LINGER_S), "linger")
        wrong = "" if ended.timed_out and ended.usage.wall_ms < 1000 * _PROBE_S else "a tool outlived its time"
        return [_promise("wall clock", wrong)]

    async def _run(self, policy: Policy, *arguments: str) -> Exit:
        env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        argv = [PYTHON, "-I", "-S", "-B", "-c", _PROGRAM, *arguments]
        async with self._turns, self._backend.workspace(policy) as workspace:
            if policy.folder not in {mount.target for mount in policy.mounts} and _in_memory(policy):
                policy = policy.with_mounts(Mount(Path("/usr/share"), policy.folder))
            async with self._backend.start(argv, env, policy, workspace) as process:
                ended = await process.wait()
        if ended.setup_failed is not None:
            raise SetupFailedError(ended.setup_failed)
        return ended


def _in_memory(policy: Policy) -> bool:
    return policy.storage is Storage.MEMORY


def _promise(name: str, wrong: str, means: str = "") -> Promise:
    missing = _MISSING.get(name, "") if wrong else ""
    return Promise(name=name, held=not wrong, found=wrong or means, missing=missing)


def broken(reports: Sequence[ProfileReport]) -> SandboxUnavailableError | None:
    """The error for promises that did not hold, or None when all did."""
    lines = [f"{report.profile}: {promise.name}: {promise.found}" for report in reports for promise in report.broken]
    if not lines:
        return None
    missing = ", ".join(sorted({promise.missing for report in reports for promise in report.broken if promise.missing}))
    return SandboxUnavailableError(
        f"the sandbox does not hold what it promises here: {'; '.join(lines)}",
        "run `toolmesh doctor --sandbox`, and give the machine what is missing, or choose another mode",
        missing,
    )
