"""Open a backend: make its folders, find bubblewrap, and prove that each profile really starts here."""

import dataclasses
import logging
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.base_folder import open_base
from toolmesh_sandbox.bwrap_argv import BwrapHost
from toolmesh_sandbox.bwrap_backend import BwrapBackend
from toolmesh_sandbox.bwrap_binary import find_bwrap
from toolmesh_sandbox.diagnosis import explain
from toolmesh_sandbox.errors import SandboxUnavailableError
from toolmesh_sandbox.identities import Identities
from toolmesh_sandbox.plain_backend import PlainBackend, PrlimitBackend
from toolmesh_sandbox.policy import Policy
from toolmesh_sandbox.profiles import profile
from toolmesh_sandbox.published import publish_files
from toolmesh_sandbox.settings import Mode, SandboxSettings
from toolmesh_sandbox.spawner_client import Spawner, open_spawner
from toolmesh_sandbox.system_view import ETC_FILES
from toolmesh_sandbox.workspaces import Workspaces, open_workspaces

_log = logging.getLogger(__name__)
_PROBE_S = 10.0


@asynccontextmanager
async def open_backend(settings: SandboxSettings) -> AsyncIterator[Backend]:
    """A backend that has run a trivial command under each of `settings.profiles`, for as long as the context is open.

    Raises:
        SandboxUnavailableError: the machine can't give what the mode promises, or `direct` was not allowed.
        PolicyRefusedError: one of the profiles promises what the mode can't enforce.
        BaseFolderError: the base folder can't be used.
        PolicyInvalidError: an unknown profile name.
    """
    policies = [profile(name).with_wall_clock(_PROBE_S) for name in settings.profiles]
    _check_platform(settings)
    base = open_base(settings.base)
    async with AsyncExitStack() as stack:
        spawner = await stack.enter_async_context(open_spawner())
        identities = Identities(base, settings.first_uid, settings.uid_count)
        workspaces = await stack.enter_async_context(open_workspaces(base, identities))
        if settings.mode is Mode.BWRAP:
            yield await _proved_bwrap(settings, base, spawner, workspaces, policies)
            return
        kind = PlainBackend if settings.mode is Mode.DIRECT else PrlimitBackend
        backend = kind(spawner, workspaces)
        for policy in policies:
            if failure := await _probe(backend, policy):
                raise explain(policy.profile, failure)
        _log.warning("sandbox mode %s: tools can read and reach what their user can", settings.mode)
        yield backend


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


async def _proved_bwrap(
    settings: SandboxSettings, base: Path, spawner: Spawner, workspaces: Workspaces, policies: list[Policy]
) -> Backend:
    host = BwrapHost(
        program=find_bwrap(settings.bwrap, base),
        etc=_published_etc(base),
        disable_userns=True,
        hidden=(base, *(path.resolve() for path in settings.hidden)),
    )
    backend: Backend = BwrapBackend(spawner, workspaces, host)
    for policy in policies:
        failure = await _probe(backend, policy)
        if "max_user_namespaces" in failure and host.disable_userns:
            _log.warning("bwrap can't disable user namespaces inside the sandbox: %s", failure)
            host = dataclasses.replace(host, disable_userns=False)
            backend = BwrapBackend(spawner, workspaces, host)
            failure = await _probe(backend, policy)
        if failure:
            raise explain(policy.profile, failure)
    _log.info("sandbox mode bwrap: %s", host.program)
    return backend


async def _probe(backend: Backend, policy: Policy) -> str:
    """Run /usr/bin/true; returns why it failed, or nothing."""
    async with (
        backend.workspaces.new() as workspace,
        backend.start(["/usr/bin/true"], {}, policy, workspace) as process,
    ):
        ended = await process.wait()
    if ended.code == 0:
        return ""
    said = ended.stderr.decode(errors="replace").strip()
    return ended.setup_failed or f"the probe ended with {ended.code=} {ended.signal=} {ended.timed_out=} {said}"


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
