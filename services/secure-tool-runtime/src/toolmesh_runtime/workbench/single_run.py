"""Runs one tool once, on the same path as a worker's calls, with nobody between it and the person."""

import mimetypes
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.reply_sender import ReplySender
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.reply import Result, Status, StatusState
from toolmesh_contracts.envelopes.values import ArtifactRef, Caller
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.file_names import file_name
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_contracts.invocation_headers import InvocationHeaders
from toolmesh_contracts.sealed_config import texts_of
from toolmesh_contracts.worker_config import WorkerLimits
from toolmesh_identity.claims import Claims
from toolmesh_runtime.admission import AdmittedCall
from toolmesh_runtime.declared.command_run import DeclaredCommands
from toolmesh_runtime.declared.turn_workspaces import TurnWorkspaces
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.process.confinement import Confinement
from toolmesh_runtime.process.secret_hiding import without, worth_hiding
from toolmesh_runtime.tool_calls import ToolCalls
from toolmesh_runtime.toolsets.loaded_tool import LoadedTool
from toolmesh_runtime.workbench.overheard import OverheardConfinement
from toolmesh_runtime.workbench.payload_folder import PayloadFolder
from toolmesh_telemetry.redaction import Redactor

__all__ = ["LOCAL_POOL", "SingleRun", "run_once"]

LOCAL_POOL: Final = "local"
_NAMESPACE: Final = "local"
_WORKER: Final = "local"
_PERSON: Final = "developer"
_MARGIN_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleRun:
    """What to run.

    Attributes:
        tool: The tool.
        arguments: A JSON object, not yet checked against the tool's schema.
        config: The operator's settings.
        secrets: Texts in them that nothing may show, beside what the tool declares secret.
        artifacts: Files by parameter, or by `parameter[i]` for lists.
    """

    tool: LoadedTool
    arguments: bytes
    config: Mapping[str, Any] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    artifacts: Mapping[str, Path] = field(default_factory=dict)


async def run_once(
    run: SingleRun,
    confinement: Confinement,
    payloads: PayloadFolder,
    on_status: Callable[[Status], None],
    on_output: Callable[[bytes, bytes], None],
) -> Result:
    """Run a tool; whatever goes wrong with it is a result.

    Args:
        run: What to run.
        confinement: The sandbox.
        payloads: Takes copies of the input files, and what the tool leaves.
        on_status: Gets each status at once.
        on_output: Gets what the program wrote to stdout and stderr, without secrets, when it has ended.

    Raises:
        ToolmeshError: an input file can't be read.
    """
    call = await _call(run, payloads)
    secrets = _secrets(run)

    def overheard(stdout: bytes, stderr: bytes) -> None:
        on_output(without(stdout, secrets), without(stderr, secrets))

    async with MemoryHub.running(_NAMESPACE) as hub:
        broker = MemoryBroker(hub, _WORKER)
        calls = ToolCalls(
            worker=_WORKER,
            broker=broker,
            confinement=OverheardConfinement(confinement.backend, confinement.sdk, overheard),
            payloads=payloads,
            limits=WorkerLimits(),
            redactor=Redactor(),
            metrics=WorkerMetrics(),
            declared=DeclaredCommands(confinement.backend, TurnWorkspaces(confinement.backend, payloads)),
        )
        sender = _Sender(broker, call.invocation.id, on_status)
        return await calls.run(call, run.tool, sender, run.config, secrets, 1)


async def _call(run: SingleRun, payloads: PayloadFolder) -> AdmittedCall:
    """Return the call as a worker would have admitted it."""
    now = int(time.time())
    deadline_ms = int((now + run.tool.timeout_s + _MARGIN_S) * 1000)
    invocation = Invocation(
        id=new_invocation_id(),
        tool=run.tool.name,
        exposed_name=run.tool.name,
        pool=LOCAL_POOL,
        executor=_WORKER,
        caller=Caller(user=_PERSON, agent=""),
        deadline_ms=deadline_ms,
        arguments=msgspec.Raw(run.arguments),
        artifacts={key: await _stored(path, payloads) for key, path in run.artifacts.items()},
    )
    headers = InvocationHeaders(
        invocation=invocation.id,
        tool=invocation.tool,
        deadline_ms=deadline_ms,
        required_scopes=(),
        token="",
        signature="",
    )
    claims = Claims(
        subject=_PERSON,
        scopes=("*",),
        audience=_NAMESPACE,
        issuer=_WORKER,
        issued_at=now,
        not_before=now,
        expires_at=now + 3600,
        token_id=uuid.uuid4().hex,
    )
    return AdmittedCall(invocation, headers, claims)


async def _stored(path: Path, payloads: PayloadFolder) -> ArtifactRef:
    try:
        payload = await payloads.put_file(path)
    except OSError as error:
        raise ToolmeshError(
            f"can't read {path}: {error.strerror}", code=ErrorCode.ARTIFACT_ERROR, hint="give a readable file"
        ) from error
    return ArtifactRef(
        filename=file_name(path),
        mime_type=mimetypes.guess_type(path.name)[0] or "application/octet-stream",
        size=payload.size,
        sha256=payload.sha256,
        payload=payload,
    )


def _secrets(run: SingleRun) -> tuple[str, ...]:
    declared = run.tool.description.secret_keys
    texts = (text for key in declared for text in texts_of(run.config.get(key)))
    return worth_hiding(tuple(filter(None, (*run.secrets, *texts))), run.config, declared)


class _Sender(ReplySender):
    """Shows each status when it comes: here there is no network to spare."""

    def __init__(self, broker: MemoryBroker, invocation: str, on_status: Callable[[Status], None]) -> None:
        super().__init__(broker, LOCAL_POOL, _WORKER, invocation, 1, _WORKER)
        self._on_status = on_status
        self._told = 0

    def status(self, state: StatusState, text: str = "", progress: float | None = None) -> None:
        """Tell the person."""
        self._told += 1
        at_ms = time.time_ns() // 1_000_000
        told = Status(
            invocation=self._invocation,
            attempt=1,
            seq=self._told,
            worker=self._worker,
            state=state,
            text=text,
            progress=progress,
            at_ms=at_ms,
        )
        self._on_status(told)
