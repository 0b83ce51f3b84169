"""Makes tools of rows: a declared tool for each, and tools of a manifest that run a row's code under the other profiles."""

import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.rows import Row
from tests.attacks.stage import Stage
from tests.support.agent_folder import agent_folder

DECLARED = "declared"
PROFILES = (DECLARED, "restrictive", "standard", "permissive")
KEPT_CHARACTERS = 1 << 20
"""Of a declared tool's output."""
SECOND = "second"
"""A declared tool that only says so, for another call of a turn."""
WAITING = 99
"""The descriptor at which a row waits for its head."""
_TIMEOUT_S = 10
_STDIN = b'{"a":1}'
_PYTHON = "/usr/bin/python3"
_PROGRAM = Path(__file__).with_name("run_python.py")

# A row is judged by its stdout alone, and knows only afterwards who its neighbours are: nobody can tell before which
# user it runs as. It is to find no trace of this.
_PRELUDE = """\
# {marker}
import os
_ends = os.pipe()
os.dup2(_ends[0], {waiting})
_head = os.read({waiting}, 65536)
for _end in (*_ends, {waiting}): os.close(_end)
_null = os.open("/dev/null", os.O_WRONLY)
os.dup2(_null, 2)
os.close(_null)
{before}
exec(_head)
"""
_STDIN_AGAIN = """\
_given = {given}
_ends = os.pipe()
os.write(_ends[1], _given)
os.dup2(_ends[0], 0)
for _end in _ends: os.close(_end)
"""
_CPU_LIMIT = """\
import resource
resource.setrlimit(resource.RLIMIT_CPU, ({cpu}, {cpu} + 1))
"""


@dataclass(frozen=True)
class RowCall:
    """One call of a row under one profile.

    Attributes:
        tool: The tool's name.
        arguments: What it is called with.
        marker: In the command line of the call's processes.
        timeout_s: The tool's time limit.
    """

    row: Row
    profile: str
    tool: str
    arguments: bytes
    marker: str
    timeout_s: float

    @property
    def declared(self) -> bool:
        """Whether it is a declared tool, and not one of a manifest."""
        return self.profile == DECLARED


def calls_of(rows: Iterable[Row], profiles: Iterable[str]) -> list[RowCall]:
    """Each row under `declared`, and those for any profile under the others too."""
    numbered = list(enumerate(rows))
    return [
        _declared(number, row) if name == DECLARED else _listed(row, name)
        for name in profiles
        for number, row in numbered
        if name == DECLARED or row["profile"] == "any"
    ]


def _declared(number: int, row: Row) -> RowCall:
    name = f"row_{number:03}_{re.sub('[^a-z0-9]', '_', row['id'].lower())[:20]}"
    arguments = json.dumps({"a": "x" * (row["stdin_mb"] << 20)}).encode() if "stdin_mb" in row else _STDIN
    return RowCall(row, DECLARED, name, arguments, name, row.get("timeout", _TIMEOUT_S))


def _listed(row: Row, profile: str) -> RowCall:
    timeout, cpu = row.get("timeout", _TIMEOUT_S), row.get("lim", {}).get("cpu")
    name = f"python_{profile}_{timeout}s" + ("" if cpu is None else f"_cpu{cpu}")
    code = _prelude(name, f"{_STDIN!r}", None) + row["code"]
    return RowCall(row, profile, name, json.dumps({"code": code}).encode(), _PROGRAM.name, timeout)


def _prelude(marker: str, stdin: str, cpu: int | None) -> str:
    before = _STDIN_AGAIN.format(given=stdin) if stdin else ""
    if cpu is not None:
        before += _CPU_LIMIT.format(cpu=cpu)
    return _PRELUDE.format(marker=marker, waiting=WAITING, before=before)


def write_agent(stage: Stage, calls: Iterable[RowCall]) -> Path:
    """Make an agent folder of the declared tools among `calls`, and return it."""
    vessel = f'workdir = "/data"\ntool_output_chars = {KEPT_CHARACTERS}\n'
    folder = agent_folder(stage.package, {SECOND: "echo second"}, vessel=vessel)
    listed = [f"tools/{SECOND}.toml"]
    for call in calls:
        if call.declared:
            # The page has a space after each colon; the rows have none.
            stdin = "" if "stdin_mb" in call.row else 'os.read(0, 64).replace(b" ", b"")'
            code = _prelude(call.marker, stdin, call.row.get("lim", {}).get("cpu")) + call.row["code"]
            command = json.dumps([_PYTHON, "-c", code], ensure_ascii=False)
            listed.append(f"tools/{call.tool}.toml")
            (folder / listed[-1]).write_text(
                f'name = "{call.tool}"\ndescription = "A row."\ncommand = {command}\ntimeout_seconds = {call.timeout_s}\n'
            )
    mounts = "".join(
        f'[[sandbox.mounts]]\nsource = "{source}"\ntarget = "{target}"\n'
        for source, target in ((stage.workdir, "/data"), (stage.data, "/mnt/data"))
    )
    (folder / "vessel.toml").write_text(f"{vessel}[tools]\ndeclared = {json.dumps(listed)}\n{mounts}")
    return folder


def write_toolset(folder: Path, calls: Iterable[RowCall]) -> Path:
    """Make a toolset of what the other calls need, and return it."""
    (folder / "run").mkdir(parents=True)
    shutil.copy(_PROGRAM, folder / "run")
    tools = {
        call.tool: {
            "executable": _PROGRAM.stem,
            "tool_dir": "run",
            "sandbox_profile": call.profile,
            "timeout_seconds": call.timeout_s,
            "resource_limits": {"max_cpu_seconds": call.row["lim"]["cpu"]} if "lim" in call.row else {},
        }
        for call in calls
        if not call.declared
    }
    (folder / "manifest.yaml").write_text(json.dumps({"version": 1, "tools": tools}))  # JSON is YAML
    return folder
