"""One example of every message, for readers of `schemas/` and for tests."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from toolmesh_contracts.envelopes.catalog import (
    ArtifactParameter,
    CatalogEntry,
    DescribeReply,
    DescribeRequest,
    Heartbeat,
    ToolProblem,
)
from toolmesh_contracts.envelopes.invocation import Cancel, DirectReply, Invocation
from toolmesh_contracts.envelopes.ledger import LedgerEntry, LedgerState
from toolmesh_contracts.envelopes.reply import Confirmation, InlineOutput, Outcome, Result, Status, StatusState
from toolmesh_contracts.envelopes.services import MintReply, MintRequest, ModelReply, ModelRequest
from toolmesh_contracts.envelopes.task import DeadLetter, Schedule, Task, TaskEvent
from toolmesh_contracts.envelopes.values import ArtifactRef, Caller, PayloadRef, Usage, VolumeMount
from toolmesh_contracts.errors import ErrorCode

__all__ = ["EXAMPLES"]

_ID = "01938b3e-5a00-7c6e-9d0a-3f2b1c4d5e6f"
_TASK = "01938b3e-59f0-7a11-8b22-0c0d0e0f1011"
_TOKEN = "eyJhbGciOiJFZERTQSJ9.e30.c2lnbmF0dXJl"  # noqa: S105 - the form of a token, not one
_NOW_MS = 1_796_000_000_000
_CALLER = Caller(user="ada@example.org", agent="weather_agent", session="s-1", task=_TASK)
_ARTIFACT = ArtifactRef(
    filename="report.txt",
    mime_type="text/plain",
    size=11,
    sha256="b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
    payload=PayloadRef(
        bucket="TM__demo__PAYLOADS__default",
        object=f"{_ID}.report",
        size=11,
        sha256="b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
    ),
    description="A short report",
)
_INVOCATION = Invocation(
    id=_ID,
    tool="get_forecast",
    exposed_name="get_forecast",
    pool="default",
    executor="executor-1",
    caller=_CALLER,
    deadline_ms=_NOW_MS + 300_000,
    arguments=msgspec.Raw(b'{"city":"Oslo"}'),
    required_scopes=("tool:weather:read",),
    timeout_ms=30_000,
    tool_config=msgspec.Raw(b'{"units":"celsius"}'),
    artifacts={"report": _ARTIFACT},
    volume_mounts=(VolumeMount(volume_id="v-1", mount_path="/mnt/data"),),
    user_profile=msgspec.Raw(b'{"workEmail":"ada@example.org"}'),
)
_ENTRY = CatalogEntry(
    tool="get_forecast",
    pool="default",
    worker="worker-1",
    version="3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea",
    discovered_ms=_NOW_MS,
    description="Return the current forecast for a city.",
    parameters=msgspec.Raw(b'{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}'),
    artifact_parameters={"report": ArtifactParameter(is_optional=True)},
    timeout_ms=30_000,
    source="manifest.yaml: get_forecast",
)

EXAMPLES: Final[Mapping[str, msgspec.Struct]] = MappingProxyType(
    {
        "cancel/1": Cancel(invocation=_ID, executor="executor-1", reason="the user pressed stop"),
        "catalog-entry/1": _ENTRY,
        "confirmation/1": Confirmation(invocation=_ID, accepted=True),
        "dead-letter/1": DeadLetter(
            pool="default",
            subject="tm.demo.invoke.default.normal.3.weather_agent==ada=40example=2Eorg",
            stream_sequence=17,
            code=ErrorCode.AUTHENTICATION_FAILED,
            reason="the signature does not match the body",
            at_ms=_NOW_MS,
            worker="worker-1",
            invocation=_INVOCATION,
            headers={"Tm-Schema": "invocation/1"},
        ),
        "describe-reply/1": DescribeReply(entry=_ENTRY),
        "describe-request/1": DescribeRequest(
            tool="get_forecast",
            executor="executor-1",
            request=_ID,
            tool_config=msgspec.Raw(b'{"units":"celsius"}'),
        ),
        "direct-reply/1": DirectReply(invocation=_ID, taken=True),
        "heartbeat/1": Heartbeat(
            instance="worker-1",
            pool="default",
            kind="worker",
            started_ms=_NOW_MS,
            slots=4,
            running=1,
            warm={"get_forecast": 2},
            tools=3,
            problems=(
                ToolProblem(
                    source="manifest.yaml: broken",
                    tool="broken",
                    code=ErrorCode.INIT_ERROR,
                    message="--schema ended with exit code 1: No module named 'pandas'",
                ),
            ),
        ),
        "invocation/1": _INVOCATION,
        "ledger-entry/1": LedgerEntry(
            state=LedgerState.RUNNING,
            attempt=1,
            worker="worker-1",
            lease_until_ms=_NOW_MS + 6_000,
            deadline_ms=_NOW_MS + 300_000,
        ),
        "mint-reply/1": MintReply(token=_TOKEN, expires_ms=_NOW_MS + 3_600_000),
        "mint-request/1": MintRequest(task=_TASK, user="ada@example.org", agent="weather_agent", schedule="s-9"),
        "model-reply/1": ModelReply(text="Take an umbrella.", input_tokens=42, output_tokens=5),
        "model-request/1": ModelRequest(
            invocation=_ID,
            attempt=1,
            worker="worker-1",
            system_prompt="You are brief.",
            user_prompt="Rain at noon. Advice?",
            deadline_ms=_NOW_MS + 60_000,
        ),
        "result/1": Result(
            invocation=_ID,
            attempt=1,
            seq=2,
            tool="get_forecast",
            outcome=Outcome.OK,
            worker="worker-1",
            message="Forecast for Oslo",
            data=msgspec.Raw(b'{"forecast":"Sunny in Oslo, 22 C."}'),
            artifacts=(_ARTIFACT,),
            inline_outputs=(InlineOutput(name="note.txt", mime_type="text/plain", content="light wind"),),
            notes=("1 output file was refused: link.txt is a symbolic link",),
            usage=Usage(wall_ms=63, cpu_ms=48, peak_memory_bytes=14_680_064, written_bytes=4096),
        ),
        "schedule/1": Schedule(
            id="s-9",
            owner="ada@example.org",
            agent="weather_agent",
            message="Send me the forecast.",
            expression="0 0 9 * * 1-5",
            timezone="Europe/Paris",
            name="weekday forecast",
        ),
        "status/1": Status(
            invocation=_ID,
            attempt=1,
            seq=1,
            state=StatusState.PROGRESS,
            worker="worker-1",
            text="looking up the forecast",
            progress=0.5,
            at_ms=_NOW_MS,
        ),
        "task/1": Task(id=_TASK, agent="weather_agent", text="What is the weather in Oslo?"),
        "task-event/1": TaskEvent(
            task=_TASK,
            seq=3,
            at_ms=_NOW_MS,
            executor="executor-1",
            record=msgspec.Raw(b'{"kind":"tool.started","call":"1.1","tool":"get_forecast"}'),
        ),
    }
)
"""Examples by schema name and major."""
