"""Cases of declared tools, in files of one JSON object a line: read, made into agent folders, called, and judged.

Everything follows from the fields of a case; no case is known by name.
"""

import asyncio
import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.worker_mesh import broker_and_client, worker_in_process

from toolmesh_client import Client
from toolmesh_client.errors import InvalidArgumentsError
from toolmesh_client.result import CallResult
from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.vessel import DeclaredToolFile, load_vessel

FOLDER = Path(__file__).parent.parent / "cases_declared"
CASES = FOLDER / "declared-tools.jsonl"
FIXTURES = FOLDER / "declared-fixtures"
TIMEOUT_S = 30
EXPECTATIONS = {"load", "attr", "refused", "text", "re", "json", "error", "maxms", "files", "gone"}
_GONE_AFTER_S = 0.05
_NAME_LINE = re.compile(r"""^name\s*=\s*(["']).*?\1""", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One case, and the agent folder it has become."""

    fields: Mapping[str, Any]
    folder: Path
    tool: str
    """The tool's name in the pool: every case's own."""

    @property
    def expected(self) -> Mapping[str, Any]:
        """What must hold."""
        expected: Mapping[str, Any] = self.fields["exp"]
        return expected

    @property
    def arguments(self) -> bytes | None:
        """The raw text of the arguments; None when the tool is only loaded."""
        given = self.fields["args"]
        if isinstance(given, dict):
            given = json.dumps({"x": "y" * given["x_repeat_y"]}, separators=(",", ":"))
        return None if given is None else str(given).encode("utf-8", "surrogatepass")


@dataclass
class Ended:
    """How a call ended: with a result, or refused before anything was queued."""

    result: CallResult | None
    refusal: InvalidArgumentsError | None = None
    fault: str = ""
    """Why there was no call at all."""
    wall_ms: float = 0.0
    left: list[str] = field(default_factory=list)
    """Command lines of processes that should be gone."""


def read_cases(file: Path, folder: Path) -> list[Case]:
    """Make an agent folder of each case in `file`, all below `folder`."""
    cases = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()):
        if not line.strip():
            continue
        fields = json.loads(line)
        cases.append(_case(fields, folder / f"case-{number:03}", f"case_{number:03}"))
    return cases


def _case(fields: Mapping[str, Any], folder: Path, name: str) -> Case:
    shutil.copytree(FIXTURES / "agent", folder)
    seen = fields.get("seen", [])
    for number, taken in enumerate(seen):
        text = f'name = "{taken}"\ndescription = "d"\ncommand = ["true"]\n'
        (folder / "tools" / f"seen-{number}.toml").write_text(text)
    (folder / "tools" / "case.toml").write_text(fields["toml"], encoding="utf-8", errors="surrogatepass")
    listed = [*(f"tools/seen-{number}.toml" for number in range(len(seen))), "tools/case.toml"]
    timeout = fields.get("cfg", {}).get("timeout", TIMEOUT_S)
    (folder / "vessel.toml").write_text(
        f'workdir = "/data"\ntool_timeout_seconds = {timeout}\n[tools]\ndeclared = {json.dumps(listed)}\n'
        f'[[sandbox.mounts]]\nsource = {json.dumps(str(FIXTURES / "data"))}\ntarget = "/data"\n'
    )
    return Case(fields, folder, name)


def judge_loading(case: Case) -> list[str]:
    """Return what is wrong with how the case's tool loads; a key that nobody can judge is wrong too."""
    if unknown := case.expected.keys() - EXPECTATIONS:
        return [f"{name}: nobody knows how to judge this" for name in sorted(unknown)]
    settings, reason = _loaded(case)
    wanted = case.expected.get("load", True)
    if (settings is not None) != wanted:
        return [f"load: {reason or 'it loads'}"]
    return [
        f"{name}: {shown!r}"
        for name, value in case.expected.get("attr", {}).items()
        if (shown := _plain(getattr(settings, name))) != value
    ]


def _loaded(case: Case) -> tuple[DeclaredToolFile | None, str]:
    try:
        vessel = load_vessel(case.folder)
    except ConfigError as error:
        return None, str(error)
    for tool in vessel.tools.values():
        if tool.path.name == "case.toml":
            return tool.settings, ""
    return None, "; ".join(map(str, vessel.problems))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def callable_cases(cases: Sequence[Case]) -> list[Case]:
    """Return the cases with a call, each tool renamed to a name of its own, so that one pool can serve them all."""
    called = [case for case in cases if case.arguments is not None and case.expected.get("load", True)]
    for case in called:
        renamed = _NAME_LINE.sub(f'name = "{case.tool}"', case.fields["toml"], count=1)
        (case.folder / "tools" / "case.toml").write_text(renamed, encoding="utf-8")
    for case in cases:
        if case not in called:
            shutil.rmtree(case.folder)
    return called


async def call_case(client: Client, case: Case) -> Ended:
    """Call a case's tool, twice in one turn if the case says so."""
    arguments = case.arguments
    assert arguments is not None
    ended = Ended(None)
    for _ in range(2 if case.fields.get("twice") else 1):
        started = time.monotonic()
        try:
            ended = Ended(await client.call(case.tool, arguments, turn=f"turn of {case.tool}"))
        except InvalidArgumentsError as error:
            ended = Ended(None, error)
        except ToolmeshError as error:
            return Ended(None, fault=str(error))
        ended.wall_ms = (time.monotonic() - started) * 1000
    if gone := case.expected.get("gone"):
        await asyncio.sleep(_GONE_AFTER_S)
        ended.left = [line for line in command_lines() if gone in line]
    return ended


def command_lines() -> list[str]:
    """Return the command line of every process of this machine."""
    lines = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                lines.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return lines


def judge_call(case: Case, ended: Ended) -> list[str]:
    """Return what is wrong with how a call ended."""
    expected, result = case.expected, ended.result
    if ended.fault:
        return [f"not called: {ended.fault}"]
    if expected.get("refused"):
        return _judge_refusal(ended)
    if result is None:
        return [f"refused: {ended.refusal}"]
    text = result.message
    wrong = []
    if "text" in expected and text != expected["text"]:
        wrong.append(f"text: {text[:300]!r}")
    if "re" in expected and not re.search(expected["re"], text):
        wrong.append(f"re: {text[:300]!r}")
    if "json" in expected and _json(text) != expected["json"]:
        wrong.append(f"json: {text[:300]!r}")
    if "error" in expected and (not result.ok) != expected["error"]:
        wrong.append(f"error: {result.outcome} {result.error} {text[:300]!r}")
    if "maxms" in expected and ended.wall_ms > expected["maxms"]:
        wrong.append(f"maxms: {ended.wall_ms:.0f}")
    if "files" in expected and sorted(ref.filename for ref in result.artifacts) != expected["files"]:
        wrong.append(f"files: {[ref.filename for ref in result.artifacts]} {result.notes}")
    if ended.left:
        wrong.append(f"gone: {ended.left}")
    return wrong


def _judge_refusal(ended: Ended) -> list[str]:
    if ended.refusal is not None:
        return []
    result = ended.result
    refused = result is not None and result.error is not None and result.error.code is ErrorCode.INVALID_ARGUMENTS
    return [] if refused else [f"refused: {result}"]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return f"no JSON: {text[:300]!r}"


async def run_cases(file: Path, folder: Path, at_once: int = 4) -> dict[str, list[str]]:
    """Judge every case of a file: how its tool loads, and how it runs through a broker and a worker of their own.

    Returns:
        What is wrong with each, by the case's id; nothing for one that is right.
    """
    cases = read_cases(file, folder / "agents")
    judged = {str(case.fields["id"]): judge_loading(case) for case in cases}
    called = callable_cases(cases)
    if not called:
        return judged
    async with (
        broker_and_client(folder) as mesh,
        worker_in_process(mesh, [folder / "agents"], concurrency=at_once),
    ):
        for name, faults in (await judge_calls(mesh.client, called, at_once)).items():
            judged[name] += faults
    return judged


async def judge_calls(client: Client, cases: Sequence[Case], at_once: int) -> dict[str, list[str]]:
    """Call the tools of `cases`, some at a time; return what is wrong, by case."""
    gate = asyncio.Semaphore(at_once)

    async def judged(case: Case) -> list[str]:
        async with gate:
            return judge_call(case, await call_case(client, case))

    async with asyncio.TaskGroup() as group:
        tasks = {str(case.fields["id"]): group.create_task(judged(case)) for case in cases}
    return {name: task.result() for name, task in tasks.items()}
