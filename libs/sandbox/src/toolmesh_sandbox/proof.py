"""Prove the promises of a policy by attacking them from inside, with `probe_program`."""

import asyncio
import dataclasses
import json
import os
import secrets
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.errors import SandboxUnavailableError
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.limits import MEBIBYTE, affordable
from toolmesh_sandbox.policy import Mount, Network, Policy, Storage
from toolmesh_sandbox.process import Exit
from toolmesh_sandbox.self_test_report import ProfileReport, Promise
from toolmesh_sandbox.settings import Mode

PYTHON = "/usr/bin/python3"
_PROGRAM = Path(__file__).with_name("probe_program.py").read_text(encoding="utf-8")
_PROBE_S = 10.0
_LINGER_S = 0.3
_HOG_LIMIT_BYTES = 48 * MEBIBYTE
_HOG_BYTES = 96 * MEBIBYTE
_READ_ONLY = ("", "/usr", "/usr/bin", "/etc", "/dev", "/dev/shm", "/proc", "/bin", "/lib", "/var", "/opt")  # noqa: S108 - tried
_SECRETS = ("/etc/shadow", "/root/.ssh/id_rsa", "/root/.bashrc", "/run/secrets/kubernetes.io/serviceaccount/token")
_MISSING = {
    "system calls": "seccomp filters (CONFIG_SECCOMP_FILTER)",
    "socket families": "seccomp filters (CONFIG_SECCOMP_FILTER)",
    "processes": "pid namespaces (CONFIG_PID_NS) and a fresh /proc",
    "network": "network namespaces (CONFIG_NET_NS)",
    "disk": "tmpfs with size and nr_inodes in user namespaces",
    "memory": "a writable memory cgroup, or a readable /proc",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Canary:
    """Things of the worker that no tool may get at, made for the time of the proof."""

    secret: Path
    port: int


class SetupFailedError(SandboxUnavailableError):
    """The sandbox did not start; the message is what it said."""


async def prove(backend: Backend, policies: Sequence[Policy], level: Level, base: Path) -> tuple[ProfileReport, ...]:
    """Attack everything that policies promise under a backend. The limits of time and memory are tried once, for all.

    Raises:
        SetupFailedError: the sandbox did not start at all.
    """
    reports: list[ProfileReport] = []
    with ExitStack() as stack:
        canary = _canary(stack, base)
        for policy in policies:
            promises = await _try(backend, policy, level, canary)
            if not reports:
                promises += await _try_limits(backend, policy)
            reports.append(ProfileReport(profile=policy.profile, promises=tuple(promises)))
    return tuple(reports)


async def _try_limits(backend: Backend, policy: Policy) -> list[Promise]:
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_wall_clock(backend, policy))]
            if backend.mode is not Mode.DIRECT:
                tasks.append(group.create_task(_memory(backend, policy)))
    except* SetupFailedError as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _canary(stack: ExitStack, base: Path) -> Canary:
    secret = base / f".canary-{secrets.token_hex(4)}"
    descriptor = os.open(secret, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.close(descriptor)
    stack.callback(secret.unlink)
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    return Canary(secret=secret, port=listener.getsockname()[1])


def _promises(backend: Backend, policy: Policy, level: Level) -> list[str]:
    """What is promised at a level, and so tried."""
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
    return names


async def _try(backend: Backend, policy: Policy, level: Level, canary: Canary) -> list[Promise]:
    names = _promises(backend, policy, level)
    order: dict[str, Any] = {
        "promises": names,
        "names": ["PATH", "LANG", *(["PWD"] if backend.mode is Mode.BWRAP and not policy.exact_environment else [])],
        "alone": level <= Level.NO_PROC,
        "host_pids": [os.getpid()],
        "processes": 3,
        "secrets": [*_SECRETS, str(canary.secret)],
        "read_only": [*_READ_ONLY, *(str(mount.target) for mount in policy.mounts if mount.read_only)],
        "bounded": [*(["/tmp"] if policy.tmp else []), *(["/work", "/outbox"] if _in_memory(policy) else [])],  # noqa: S108
        "disk_bytes": policy.limits.disk_bytes,
        "disk_files": policy.limits.disk_files if _in_memory(policy) else 2**63,
        "port": canary.port,
        "limits": {limit.name: (limit.soft, limit.hard) for limit in affordable(policy.limits.rlimits())},
    }
    ended = await _run(backend, policy.with_wall_clock(_PROBE_S), json.dumps(order))
    try:
        found: dict[str, str] = json.loads(ended.stdout)
    except ValueError:
        said = ended.stderr.decode(errors="replace").strip()
        raise SetupFailedError(
            f"the probe ended with {ended.code=} {ended.signal=} {ended.timed_out=} {said}"
        ) from None
    return [_promise(name, found.get(name, "was not tried")) for name in names]


def _in_memory(policy: Policy) -> bool:
    return policy.storage is Storage.MEMORY


def _promise(name: str, wrong: str, means: str = "") -> Promise:
    missing = _MISSING.get(name, "") if wrong else ""
    return Promise(name=name, held=not wrong, found=wrong or means, missing=missing)


async def _memory(backend: Backend, policy: Policy) -> Promise:
    """Take more than a limit lowered for this purpose."""
    limits = dataclasses.replace(policy.limits, memory_bytes=_HOG_LIMIT_BYTES)
    lowered = dataclasses.replace(policy, limits=limits, wall_clock_s=_PROBE_S)
    ended = await _run(backend, lowered, "hog", str(_HOG_BYTES))
    wrong = "" if ended.out_of_memory or ended.stdout != b"took it all" else f"{_HOG_BYTES} bytes could be taken"
    return _promise("memory", wrong, f"by {backend.memory_bound}")


async def _wall_clock(backend: Backend, policy: Policy) -> Promise:
    """Stay, deaf and with a child, beyond the time limit."""
    ended = await _run(backend, policy.with_wall_clock(_LINGER_S), "linger")
    wrong = "" if ended.timed_out and ended.usage.wall_ms < 1000 * _PROBE_S else "a tool outlived its time"
    return _promise("wall clock", wrong)


async def _run(backend: Backend, policy: Policy, *arguments: str) -> Exit:
    env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    argv = [PYTHON, "-I", "-S", "-B", "-c", _PROGRAM, *arguments]
    async with backend.workspace(policy) as workspace:
        if policy.folder not in {mount.target for mount in policy.mounts} and _in_memory(policy):
            policy = policy.with_mounts(Mount(Path("/usr/share"), policy.folder))
        async with backend.start(argv, env, policy, workspace) as process:
            ended = await process.wait()
    if ended.setup_failed is not None:
        raise SetupFailedError(ended.setup_failed)
    return ended


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
