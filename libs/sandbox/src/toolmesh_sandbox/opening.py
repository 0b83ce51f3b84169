"""Open a backend: make its folders, find bubblewrap, and prove that each profile holds here what it promises."""

import asyncio
import dataclasses
import logging
import secrets
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.base_folder import open_base
from toolmesh_sandbox.bwrap_argv import BwrapHost
from toolmesh_sandbox.bwrap_backend import BwrapBackend
from toolmesh_sandbox.bwrap_binary import find_bwrap
from toolmesh_sandbox.cgroups import find_parent
from toolmesh_sandbox.diagnosis import explain, next_level
from toolmesh_sandbox.errors import SandboxUnavailableError
from toolmesh_sandbox.identities import Identities
from toolmesh_sandbox.kernel_calls import can_filter
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.plain_backend import PlainBackend, PrlimitBackend
from toolmesh_sandbox.policy import Policy
from toolmesh_sandbox.profiles import profile
from toolmesh_sandbox.proof import SetupFailedError, broken, prove
from toolmesh_sandbox.published import publish_files
from toolmesh_sandbox.published_sweep import using_published
from toolmesh_sandbox.settings import Mode, SandboxSettings
from toolmesh_sandbox.spawner_client import Spawner, open_spawner
from toolmesh_sandbox.system_view import ETC_FILES
from toolmesh_sandbox.workspaces import Workspaces, open_workspaces

_log = logging.getLogger(__name__)


@asynccontextmanager
async def open_backend(settings: SandboxSettings) -> AsyncIterator[Backend]:
    """A backend whose every promise for `settings.profiles` was attacked and held, for as long as the context is open.

    Raises:
        SandboxUnavailableError: the machine can't give what the mode promises down to `settings.floor`, a promise
            did not hold, or `direct` was not allowed.
        PolicyRefusedError: one of the profiles promises what the mode can't enforce.
        BaseFolderError: the base folder can't be used.
        PolicyInvalidError: an unknown profile name.
    """
    async with examine(settings) as backend:
        if failure := broken(backend.proofs):
            raise failure
        if backend.level > Level.FULL:
            _log.warning("sandbox mode %s works at level %d, %s", settings.mode, backend.level, backend.level.name)
        if backend.level >= Level.FILTER_ONLY:
            _log.warning("sandbox mode %s: tools can read and reach what their user can", settings.mode)
        yield backend


@asynccontextmanager
async def examine(settings: SandboxSettings) -> AsyncIterator[Backend]:
    """As `open_backend`, but leaves it to the caller to judge `Backend.proofs`."""
    policies = [profile(name) for name in settings.profiles]
    _check_platform(settings)
    base = open_base(settings.base)
    async with AsyncExitStack() as stack:
        await asyncio.to_thread(stack.enter_context, using_published(base))
        spawner = await stack.enter_async_context(open_spawner())
        identities = Identities(base, settings.first_uid, settings.uid_count)
        workspaces = await stack.enter_async_context(open_workspaces(base, identities))
        ground = _Ground(base, spawner, workspaces, await asyncio.to_thread(find_parent))
        yield await _proved(settings, ground, policies)


def _check_platform(settings: SandboxSettings) -> None:
    if settings.mode is Mode.DIRECT:
        if not settings.allow_direct:
            raise SandboxUnavailableError(
                "mode direct isolates nothing and has to be allowed", "pass --allow-unsandboxed", "--allow-unsandboxed"
            )
    elif not sys.platform.startswith("linux"):
        raise SandboxUnavailableError(
            f"mode {settings.mode} needs Linux; this is {sys.platform}",
            "run in a Linux container, or pass --allow-unsandboxed to run tools without isolation",
            "Linux",
        )


@dataclasses.dataclass(frozen=True)
class _Ground:
    """What every backend stands on."""

    base: Path
    spawner: Spawner
    workspaces: Workspaces
    cgroup: Path | None


async def _proved(settings: SandboxSettings, ground: _Ground, policies: Sequence[Policy]) -> Backend:
    if settings.mode is Mode.BWRAP:
        try:
            return await _proved_bwrap(settings, ground, policies)
        except SandboxUnavailableError as failure:
            if settings.floor < Level.FILTER_ONLY:
                raise
            _log.warning("mode bwrap does not work here: %s", failure)
    return await _proved_plain(settings, ground, policies)


async def _proved_bwrap(settings: SandboxSettings, ground: _Ground, policies: Sequence[Policy]) -> Backend:
    host = BwrapHost(
        program=find_bwrap(settings.bwrap, ground.base),
        etc=_published_etc(ground.base),
        level=Level.FULL,
        hidden=(ground.base, *(path.resolve() for path in settings.hidden)),
    )
    while True:
        backend = BwrapBackend(ground.spawner, ground.workspaces, host, ground.cgroup)
        try:
            backend.proofs = await prove(backend, policies, ground.base)
        except SetupFailedError as failure:
            level = next_level(host.level, failure.message)
            if level is None or level > settings.floor:
                raise explain(policies[0].profile, failure.message) from failure
            _log.warning("bwrap can't give level %s: %s", host.level.name, failure.message)
            host = dataclasses.replace(host, level=level)
            continue
        _log.info("sandbox mode bwrap: %s", host.program)
        return backend


async def _proved_plain(settings: SandboxSettings, ground: _Ground, policies: Sequence[Policy]) -> Backend:
    backend: Backend
    if settings.mode is Mode.DIRECT:
        backend = PlainBackend(ground.spawner, ground.workspaces, Level.NOTHING, None)
    else:
        level = Level.FILTER_ONLY if await asyncio.to_thread(can_filter) else Level.LIMITS_ONLY
        backend = PrlimitBackend(ground.spawner, ground.workspaces, level, ground.cgroup)
    for policy in policies:
        backend.check(policy)
    try:
        backend.proofs = await prove(backend, policies, ground.base)
    except SetupFailedError as failure:
        raise explain(policies[0].profile, failure.message) from failure
    return backend


def _published_etc(base: Path) -> Path:
    staging = base / f".etc-{secrets.token_hex(4)}"
    staging.mkdir(mode=0o700)
    try:
        for name, text in ETC_FILES.items():
            (staging / name).write_text(text)
        return publish_files({name: staging / name for name in ETC_FILES}, base, "etc")
    finally:
        for path in staging.iterdir():
            path.unlink()
        staging.rmdir()
