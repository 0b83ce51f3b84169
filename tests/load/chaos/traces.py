"""Collects a run's history: the journals, the file of effects, and what the broker has in the end."""

import base64
import hashlib
import json
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from tests.load.chaos.history import CallHistory, Effect, Fault, History, KeptEntry, LostProcess, ResultLine, StepLine
from tests.load.chaos.journal import JournalReader, read_journal
from tests.load.chaos.stage import POOL, Stage

from toolmesh_broker.jetstream.api import ApiError, api_request
from toolmesh_broker.jetstream.broker import JetStreamBroker
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.ports import Entry, InitialDone
from toolmesh_contracts.call_steps import CallStep
from toolmesh_contracts.envelopes.ledger import LedgerEntry
from toolmesh_contracts.envelopes.reply import Result
from toolmesh_contracts.headers import MESSAGE_ID
from toolmesh_contracts.wire import decode

__all__ = ["collect", "read_calls", "read_effects", "read_faults"]

_LAST_WORDS = 3000
_NO_MESSAGE = 10037


async def collect(stage: Stage) -> History:
    """Look at everything."""
    calls = read_calls({name: read_journal(path) for name, path in stage.journals.items()})
    strays = read_effects(JournalReader(stage.effects).lines(), calls)
    broker = JetStreamBroker(stage.admin)
    for key, value in await _values(broker, broker.subjects.ledger_bucket()):
        if (call := calls.get(key)) is not None:
            call.ledger = _kept(decode(LedgerEntry, value))
    for key, value in await _values(broker, broker.subjects.result_bucket()):
        if (call := calls.get(key)) is not None:
            call.stored = _stored(decode(Result, value))
    for identifier in await _queued(stage.admin):
        if (call := calls.get(identifier)) is not None:
            call.queued = True
    faults = read_journal(stage.folder / "faults.jsonl")
    ended = [
        LostProcess(at, name, code, _last_words(program.log))
        for name, program in stage.programs.items()
        for at, code in program.ended_by_itself
    ]
    return History(
        began=min((call.offered_at for call in calls.values()), default=time.time()),
        ended=time.time(),
        calls=calls,
        faults=read_faults(faults),
        strays=tuple(strays),
        ended_by_itself=tuple(ended),
        undrained=tuple(line["target"] for line in faults if line["event"] == "undrained"),
    )


def read_calls(journals: dict[str, list[dict[str, Any]]]) -> dict[str, CallHistory]:
    """Put the programs' journals together, by call."""
    lines = sorted(
        ((line["at"], name, line) for name, journal in journals.items() for line in journal),
        key=lambda each: each[0],
    )
    calls: dict[str, CallHistory] = {}
    for at, _name, line in lines:
        if line["event"] == "offered" and line["call"] not in calls:
            calls[line["call"]] = CallHistory(
                id=line["call"],
                tool=line["tool"],
                executor=line["executor"],
                offered_at=at,
                deadline=line["deadline"],
            )
    for at, name, line in lines:
        if (call := calls.get(line.get("call", ""))) is not None:
            _take_in(call, at, name, line)
    return calls


def _take_in(call: CallHistory, at: float, program: str, line: dict[str, Any]) -> None:
    match line["event"]:
        case "accepted":
            call.accepted = True
        case "resumed":
            call.resumed.append(at)
        case "cancel":
            call.cancelled_at = at
        case "step":
            call.steps.append(StepLine(at, CallStep(line["step"]), program, line["pid"]))
        case "result":
            call.results.append(
                ResultLine(
                    at=at,
                    outcome=line["outcome"],
                    code=line["code"],
                    attempt=line["attempt"],
                    worker=line["worker"],
                    message=line["message"],
                    digest=line["digest"],
                )
            )


def read_effects(lines: Iterable[bytes], calls: dict[str, CallHistory]) -> list[str]:
    """Note effects at their calls; return those of calls that nobody offered."""
    strays = []
    for line in lines:
        identifier, attempt, pid, nanoseconds = line.decode().split()
        if (call := calls.get(identifier)) is None:
            strays.append(identifier)
        else:
            call.effects.append(Effect(int(nanoseconds) / 1e9, int(attempt), int(pid)))
    return strays


def read_faults(lines: Iterable[dict[str, Any]]) -> tuple[Fault, ...]:
    """Put begins and ends together."""
    begun: dict[int, dict[str, Any]] = {}
    until: dict[int, float] = {}
    for line in lines:
        if line["event"] == "begin":
            begun[line["number"]] = line
        elif line["event"] == "end":
            until[line["number"]] = line["at"]
    return tuple(
        Fault(
            kind=line["kind"],
            target=line["target"],
            at=line["at"],
            until=until.get(number, float("inf")),
            pid=line.get("pid", 0),
            step=line.get("step", ""),
            call=line.get("call", ""),
        )
        for number, line in sorted(begun.items())
    )


async def _values(broker: JetStreamBroker, bucket: str) -> list[tuple[str, bytes]]:
    """Return a bucket's values by the calls' ids."""
    found: list[tuple[str, bytes]] = []
    async with broker.keyvalue(bucket).watch() as changes:
        async for change in changes:
            if isinstance(change, InitialDone):
                return found
            if isinstance(change, Entry):
                found.append((change.key.rpartition(".")[2], change.value))
    raise AssertionError("a watch ended by itself")


async def _queued(connection: Connection) -> list[str]:
    """Return the calls whose messages the queue has."""
    found: list[str] = []
    sequence = 1
    subjects = connection.subjects
    wanted = {"next_by_subj": subjects.invoke_pool(POOL)}
    while True:
        try:
            answer = await api_request(
                connection, f"STREAM.MSG.GET.{subjects.invoke_stream(POOL)}", {**wanted, "seq": sequence}
            )
        except ApiError as error:
            if error.error_code == _NO_MESSAGE:
                return found
            raise
        headers = base64.b64decode(answer["message"]["hdrs"]).decode()
        found += re.findall(rf"^{MESSAGE_ID}: (\S+)\r$", headers, re.MULTILINE)
        sequence = answer["message"]["seq"] + 1


def _kept(entry: LedgerEntry) -> KeptEntry:
    return KeptEntry(
        state=entry.state,
        attempt=entry.attempt,
        worker=entry.worker,
        lease_until=entry.lease_until_ms / 1000,
        reason=entry.reason,
    )


def _stored(result: Result) -> ResultLine:
    return ResultLine(
        at=0.0,
        outcome=result.outcome,
        code="" if result.error is None else str(result.error.code),
        attempt=result.attempt,
        worker=result.worker,
        message=result.message[:200],
        digest=hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(result, seq=0))).hexdigest()[:16],
    )


def _last_words(log: Path) -> str:
    text = log.read_text(errors="replace")[-_LAST_WORDS:] if log.exists() else ""
    lines = []
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            lines.append(line)
        else:
            if record.get("level") in {"error", "critical"}:
                lines.append(line)
    return "\n".join(lines)
