"""The published SDK, installed as its users install it, and tools that run under it as real processes."""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.tool_process import LAUNCHER, SYSTEM_PYTHON

RELEASES = ("0.1.0", "0.1.1", "0.1.2", "0.1.3")
TOOLSET = Path(__file__).parents[1] / "toolsets" / "published"
REPOSITORY = Path(__file__).parents[2]
CACHE = REPOSITORY / ".pytest_cache" / "published-sdk"
_INSTALL_S = 120
_RUN_S = 60


def installed(release: str) -> Path:
    """Returns a folder with a release of the SDK, as its users install it."""
    return installed_package(f"sam-tool-sdk=={release}")


def installed_package(requirement: str) -> Path:
    """Returns a folder as `pip install --target` fills it, for the machine's own Python; downloaded once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = CACHE / requirement
    with (CACHE / f"{requirement}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=CACHE) as staging:
                _install(requirement, Path(staging) / "python")
                (Path(staging) / "python").rename(folder)
    return folder


def _install(requirement: str, target: Path) -> None:
    uv = shutil.which("uv") or REPOSITORY / ".bootstrap" / "bin" / "uv"
    by_uv = [str(uv), "pip", "install", "--quiet", "--python", SYSTEM_PYTHON, "--target", str(target), requirement]
    by_pip = [SYSTEM_PYTHON, "-m", "pip", "install", "--quiet", "--target", str(target), requirement]
    said = ""
    for command in (by_uv, by_pip):
        if not Path(command[0]).exists():
            continue
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_INSTALL_S)
        if done.returncode == 0:
            return
        said += done.stderr
    raise AssertionError(f"{requirement} could not be installed: is a package index reachable?\n{said[-2000:]}")


PROGRAMS = {
    "get_forecast": "forecast",
    "add": "no_context",
    "get_alerts": "get_alerts",
    "everything": "everything",
    "shapes": "shapes",
    "statuses": "statuses",
    "ask": "configured",
}
"""The tools of tests/toolsets/published/worker, and where a manifest finds them."""

_CONSOLE_SCRIPT = """#!/builder/venv/bin/python3
import sys
from alerts import cli
if __name__ == "__main__":
    sys.exit(cli())
"""


def published_toolset(folder: Path, release: str, tools: Sequence[str], *, strict: bool = False) -> Path:
    """Writes a toolset with the SDK beside its programs, one of which is a console script of another machine."""
    shutil.copytree(installed(release), folder / "tools" / "python", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (TOOLSET / "worker").glob("*.py"):
        shutil.copy(path, folder / "tools")
    script = folder / "tools" / "python" / "bin" / "get_alerts"
    script.parent.mkdir(exist_ok=True)
    script.write_text(_CONSOLE_SCRIPT)
    script.chmod(0o755)
    entries = {
        name: {"executable": PROGRAMS[name], "tool_dir": "tools", "compat": "strict" if strict else "repair"}
        for name in tools
    }
    (folder / "manifest.yaml").write_text(json.dumps({"version": 1, "tools": entries}))
    return folder


@dataclass(frozen=True)
class Answer:
    """What one tool did: its schema, and its envelope or how its command line failed."""

    schema: dict[str, Any] | None
    schema_problem: str
    envelope: dict[str, Any] | None
    problem: str

    @property
    def text(self) -> str:
        """The result's text, or the error's; for a call that left no result, how it ended."""
        if self.envelope is None:
            return self.problem
        if self.envelope["error"]:
            return f"error: {self.envelope['error']}"
        result = self.envelope["result"]
        return str(result.get("message", result.get("text")))


def run_forms(release: str, folder: Path, calls: Sequence[Mapping[str, Any]], *, strict: bool) -> list[Answer]:
    """Runs calls of the tools in tests/toolsets/published under one release of the SDK, in one process.

    Args:
        release: Which release.
        folder: A folder of their own.
        calls: Each with `tool` (`module.name`), and fields of the arguments file.
        strict: Without repair.
    """
    document = [{"tool": call["tool"], "arguments": _arguments(folder, call)} for call in calls]
    (folder / "calls.json").write_text(json.dumps(document))
    options = ["--strict"] if strict else []
    done = subprocess.run(
        [SYSTEM_PYTHON, str(LAUNCHER), *options, str(TOOLSET / "drive.py"), str(folder)],
        env={
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(installed(release)),
            "PYTHONPYCACHEPREFIX": str(CACHE / "pyc"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=_RUN_S,
    )
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert len(lines) == len(calls), done.stderr[-2000:]
    return [_answer(json.loads(line)) for line in lines]


def _arguments(folder: Path, call: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "args": {"x": "a"},
        "tool_config": {"letter": "a"},
        "user_id": "ada",
        "result_file": str(folder / "result.json"),
        "output_dir": str(folder / "output"),
        **{key: value for key, value in call.items() if key != "tool"},
    }


def _answer(line: dict[str, Any]) -> Answer:
    try:
        tools = json.loads(line["schema"])["tools"]
    except ValueError:
        tools = None
    return Answer(tools, line["schema"] if tools is None else "", line["content"], line["problem"])
