"""Runs the tool of an admitted call, and makes its result."""

import asyncio
import errno
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from toolmesh_broker.claim_check import check_in
from toolmesh_broker.errors import BrokerError
from toolmesh_broker.ledger import KEPT_AFTER_DEADLINE_S
from toolmesh_broker.ports import Broker, PayloadStore
from toolmesh_broker.reply_sender import ReplySender
from toolmesh_broker.ttl import seconds_until
from toolmesh_contracts.call_steps import CallObserver, CallStep, observe_nothing
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.reply import Result, StatusState
from toolmesh_contracts.errors import ErrorCode, MalformedMessageError, ToolmeshError
from toolmesh_contracts.tool_settings import check_settings
from toolmesh_contracts.wire import check_json_object, encode
from toolmesh_contracts.worker_config import WorkerLimits
from toolmesh_identity.claims import Claims
from toolmesh_runtime.admission import AdmittedCall
from toolmesh_runtime.arguments.rules import CheckedArguments
from toolmesh_runtime.artifacts import place_artifacts, read_payload, store_outputs
from toolmesh_runtime.declared.command_run import DeclaredCommands
from toolmesh_runtime.declared.declared_tool import DeclaredTool
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.model_calls import ModelCalls
from toolmesh_runtime.outcome import failed_result, run_result, silence, with_model_usage
from toolmesh_runtime.process.confinement import Confinement
from toolmesh_runtime.process.runner_args import CallFolder, RunnerArgs
from toolmesh_runtime.process.secret_hiding import worth_hiding
from toolmesh_runtime.process.static_credential import static_credential
from toolmesh_runtime.process.tool_run import STOP_GRACE_S, FinishedRun, RunLimits, run_tool
from toolmesh_runtime.toolsets.loaded_tool import LoadedTool
from toolmesh_sandbox.errors import SandboxError, SandboxExhaustedError
from toolmesh_sandbox.outputs import OutputLimits
from toolmesh_sandbox.workspaces import Workspace
from toolmesh_telemetry.logs import get_logger
from toolmesh_telemetry.redaction import Redactor

__all__ = ["ToolCalls"]

_log: Final = get_logger(__name__)
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_LARGEST_MESSAGE: Final = 512 * 1024
_CHECKED_AT_ONCE: Final = 64 * 1024
"""Larger arguments are checked in a thread."""
_PINNED: Final = ("id", "work_email")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalls:
    """Everything that running a tool needs, beside the call."""

    worker: str
    confinement: Confinement
    payloads: PayloadStore
    limits: WorkerLimits
    redactor: Redactor
    metrics: WorkerMetrics
    broker: Broker | None = None
    """Carries questions to the model; None: tools can't ask one."""
    declared: DeclaredCommands | None = None
    """Runs declared tools; None: there are none."""
    observer: CallObserver = observe_nothing

    async def run(
        self,
        call: AdmittedCall,
        tool: LoadedTool,
        sender: ReplySender,
        config: Mapping[str, Any],
        secrets: tuple[str, ...],
        attempt: int,
    ) -> Result:
        """Run the tool once. Whatever goes wrong is a result, but cancellation."""
        invocation = call.invocation
        secrets = worth_hiding(secrets, config, tool.description.secret_keys)
        secrets = (*secrets, *static_credential(config).secrets)
        try:
            with self.redactor.hiding(secrets):
                return await self._run(call, tool, sender, config, secrets, attempt)
        except SandboxExhaustedError as error:
            code = ErrorCode.RESOURCE_EXHAUSTED
            return failed_result(invocation, self.worker, attempt, code, str(error), retryable=True)
        except SandboxError as error:
            _log.error("the sandbox failed", invocation=invocation.id, reason=str(error))
            message = "the sandbox could not be set up; the tool did not run"
            return self._failed(invocation, attempt, ErrorCode.SANDBOX_FAILED, message)
        except ToolmeshError as error:
            return self._failed(invocation, attempt, error.code, error.message, error.hint)
        except OSError as error:
            _log.error("the call's files failed", invocation=invocation.id, reason=str(error))
            if error.errno in _FULL:
                return self._failed(invocation, attempt, ErrorCode.RESOURCE_EXHAUSTED, "the worker's disk is full")
            message = f"the call's files could not be prepared: {error.strerror}"
            return self._failed(invocation, attempt, ErrorCode.SANDBOX_FAILED, message)
        except Exception:  # noqa: BLE001 - top handler of a call
            # The caller is owed an answer, whatever is wrong with this worker.
            _log.exception("a call failed in a way nobody foresaw", invocation=invocation.id)
            message = "the worker failed; its log has the details"
            return self._failed(invocation, attempt, ErrorCode.INTERNAL_ERROR, message)

    async def _run(
        self,
        call: AdmittedCall,
        tool: LoadedTool,
        sender: ReplySender,
        config: Mapping[str, Any],
        secrets: tuple[str, ...],
        attempt: int,
    ) -> Result:
        invocation = call.invocation
        if isinstance(tool, DeclaredTool):
            return await self._run_declared(invocation, tool, sender, attempt)
        check_settings(tool.name, tool.description.config_schema, config)
        checked = await self._arguments(invocation, tool)

        async def prepare(workspace: Workspace, folder: CallFolder) -> RunnerArgs:
            placed = await place_artifacts(
                invocation.artifacts, self.payloads, workspace, folder, self.limits.artifact_bytes
            )
            return RunnerArgs(
                folder=folder,
                tool_name=tool.own_name,
                arguments=checked.data,
                tool_config=config,
                caller=invocation.caller,
                invocation=invocation.id,
                attempt=attempt,
                deadline_ms=invocation.deadline_ms,
                artifacts=placed,
                volume_mounts=invocation.volume_mounts,
                user_profile=_profile(invocation, call.claims),
            )

        own_limit_s = _own_limit_s(tool, invocation)
        # What is stopped at the deadline has put things away by then.
        until_deadline_s = seconds_until(invocation.deadline_ms)
        wall_clock_s = min(own_limit_s, max(0.1, until_deadline_s - min(STOP_GRACE_S, until_deadline_s / 2)))
        hide = Redactor()  # of this call alone: with others' secrets it would tell a tool what they are
        hide.add(*secrets)
        model = self._model(call, attempt, time.time() + wall_clock_s)
        sender.status(StatusState.STARTED)
        async with run_tool(
            self.confinement,
            tool.program,
            prepare,
            wall_clock_s=wall_clock_s,
            limits=self._run_limits(),
            on_status=lambda text, progress: sender.status(StatusState.PROGRESS, hide.exact(text), progress),
            on_started=partial(self.observer, CallStep.RUNNING, invocation.id),
            secrets=secrets,
            ask_model=None if model is None else model.ask,
        ) as run:
            result = await self._result(invocation, tool, run, secrets, attempt)
        result = with_model_usage(result, None if model is None else model.usage)
        result = msgspec.structs.replace(result, notes=(*checked.notes, *result.notes, *silence(result)))
        if result.error is not None and result.error.code is ErrorCode.SANDBOX_TIMEOUT and wall_clock_s < own_limit_s:
            return self._failed(
                invocation, attempt, ErrorCode.DEADLINE_EXCEEDED, "the tool was stopped at the call's deadline"
            )
        return result

    async def _run_declared(
        self, invocation: Invocation, tool: DeclaredTool, sender: ReplySender, attempt: int
    ) -> Result:
        if self.declared is None:
            message = "declared tools are not run here"
            raise ToolmeshError(message, code=ErrorCode.TOOL_NOT_AVAILABLE)
        arguments = await self._argument_bytes(invocation)
        own_limit_s = _own_limit_s(tool, invocation)
        wall_clock_s = min(own_limit_s, max(0.1, seconds_until(invocation.deadline_ms)))
        sender.status(StatusState.STARTED)
        on_started = partial(self.observer, CallStep.RUNNING, invocation.id)
        async with self.declared.run(tool, invocation, arguments, wall_clock_s, on_started) as run:
            result = await self._result(invocation, tool, run.finished, (), attempt)
        error = result.error
        if error is not None and error.code is ErrorCode.SANDBOX_TIMEOUT and wall_clock_s < own_limit_s:
            message = "the tool was stopped at the call's deadline"
            error = msgspec.structs.replace(error, code=ErrorCode.DEADLINE_EXCEEDED, message=message)
        return msgspec.structs.replace(result, error=error, message_is_all=True, workspace=run.workspace)

    def _model(self, call: AdmittedCall, attempt: int, ends_at: float) -> ModelCalls | None:
        if self.broker is None:
            return None
        return ModelCalls(broker=self.broker, call=call, worker=self.worker, attempt=attempt, ends_at=ends_at)

    async def _argument_bytes(self, invocation: Invocation) -> bytes:
        if invocation.arguments_payload is not None:
            limit = self.limits.arguments_bytes
            return await read_payload(self.payloads, invocation.arguments_payload, limit, "arguments")
        return b"{}" if invocation.arguments is msgspec.UNSET else bytes(invocation.arguments)

    async def _arguments(self, invocation: Invocation, tool: LoadedTool) -> CheckedArguments:
        data = await self._argument_bytes(invocation)
        try:
            check_json_object(data, "arguments")
        except MalformedMessageError as error:
            raise ToolmeshError(error.message, code=ErrorCode.INVALID_ARGUMENTS, hint=error.hint) from error
        files = {key: ref.filename for key, ref in invocation.artifacts.items()}
        if len(data) > _CHECKED_AT_ONCE:
            return await asyncio.to_thread(tool.rules.check, tool.name, data, files)
        return tool.rules.check(tool.name, data, files)

    async def _result(
        self, invocation: Invocation, tool: LoadedTool, run: FinishedRun, secrets: tuple[str, ...], attempt: int
    ) -> Result:
        returned = run.returned
        self.metrics.ran(tool.name, returned.outcome, run.usage)
        ttl_s = seconds_until(invocation.deadline_ms, KEPT_AFTER_DEADLINE_S)
        prefix = f"{invocation.id}.{attempt}"
        stored = await store_outputs(run, self.payloads, prefix, ttl_s, secrets)
        if returned.log:
            # What a tool that did its work logs is of interest to who looks for it only.
            level = logging.DEBUG if returned.error is None else logging.INFO
            _log.log(level, "the tool's process said", invocation=invocation.id, tool=tool.name, details=returned.log)
        result = run_result(invocation, self.worker, attempt, returned, stored, run.usage, tool.version)
        document: dict[str, Any] = {"message": result.message}
        if returned.data is not None:
            document["data"] = msgspec.Raw(returned.data)
        encoded = await asyncio.to_thread(msgspec.json.encode, document)
        try:
            payload = await check_in(self.payloads, f"{prefix}.result", encoded, ttl_s)
        except BrokerError as error:
            message = f"the tool has run, but its result could not be stored: {error.message}"
            return self._failed(invocation, attempt, error.code, message)
        if payload is not None:
            result = msgspec.structs.replace(result, message="", data=msgspec.UNSET, payload=payload)
        if (size := len(encode(result))) > _LARGEST_MESSAGE:
            message = f"the result's files and descriptions take {size} bytes, at most {_LARGEST_MESSAGE} are sent"
            return self._failed(invocation, attempt, ErrorCode.RESULT_TOO_LARGE, message)
        return result

    def _run_limits(self) -> RunLimits:
        return RunLimits(
            result_bytes=self.limits.result_bytes,
            outputs=OutputLimits(
                files=self.limits.artifacts,
                file_bytes=self.limits.artifact_bytes,
                total_bytes=self.limits.artifacts_total_bytes,
            ),
        )

    def _failed(self, invocation: Invocation, attempt: int, code: ErrorCode, message: str, hint: str = "") -> Result:
        return failed_result(invocation, self.worker, attempt, code, message, hint=hint)


def _own_limit_s(tool: LoadedTool, invocation: Invocation) -> float:
    return min(tool.timeout_s, (invocation.timeout_ms or 2**62) / 1000)


def _profile(invocation: Invocation, claims: Claims) -> dict[str, Any]:
    """Return the caller's profile: unsigned, but for what the token says of who it is."""
    profile: Any = {}
    if invocation.user_profile is not msgspec.UNSET:
        profile = json.loads(bytes(invocation.user_profile))
    if not isinstance(profile, dict):
        profile = {}
    pinned = {"id": claims.subject, **{key: claims.profile[key] for key in _PINNED if key in claims.profile}}
    unpinned = {key: value for key, value in profile.items() if key not in {*_PINNED, "workEmail"}}
    if "work_email" in pinned:
        pinned["workEmail"] = pinned["work_email"]
    return unpinned | pinned
