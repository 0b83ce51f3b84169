"""Runs a tool's source as a real process by the wire contract, the way a host does."""

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import toolmesh_sdk

LAUNCHER = Path(toolmesh_sdk.__file__).with_name("launch.py")
SYSTEM_PYTHON = "/usr/bin/python3"
PYTHONS = [python for python in (SYSTEM_PYTHON, sys.executable) if Path(python).exists()]
"""The interpreters that tools run under here: the machine's own, without packages, and the workspace's."""

_TIMEOUT_S = 30


@dataclass(frozen=True)
class CallOutcome:
    """What a call left behind."""

    exit_code: int
    envelope: dict[str, Any] | None
    stdout: str
    stderr: str
    statuses: list[Any]
    output: Path

    @property
    def result(self) -> Any:
        """The result of a call that must have succeeded."""
        assert self.envelope is not None, self.stderr
        assert self.envelope["error"] == "", self.envelope["error"]
        return self.envelope["result"]

    @property
    def error(self) -> str:
        """The error of a call that must have failed with an envelope."""
        assert self.envelope is not None, self.stderr
        assert self.envelope["result"] is None, self.envelope
        assert set(self.envelope["error_detail"]) == {"type", "message", "retryable"}
        return str(self.envelope["error"])

    @property
    def index(self) -> dict[str, Any]:
        """The index of the output folder."""
        return dict(json.loads((self.output / ".toolmesh-artifacts.json").read_text()))


@dataclass(frozen=True)
class ToolProcess:
    """A tool file in a folder of its own.

    Attributes:
        folder: Where it lies; also the working directory of its calls.
        python: The interpreter.
    """

    folder: Path
    python: str

    def write(self, source: str, name: str = "tool.py") -> None:
        """Write the tool's file, or one beside it."""
        (self.folder / name).write_text(textwrap.dedent(source))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the tool with a command line."""
        return subprocess.Popen(
            [self.python, str(LAUNCHER), str(self.folder / "tool.py"), *arguments],
            cwd=self.folder,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run the tool with a command line; return exit code, stdout and stderr."""
        with self.start(*arguments) as process:
            stdout, stderr = process.communicate(timeout=_TIMEOUT_S)
        return process.returncode, stdout, stderr

    def schema(self, config: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the tools of the `--schema` document."""
        arguments = ["--schema"]
        if config is not None:
            (self.folder / "config.json").write_text(json.dumps(config))
            arguments += ["--config", str(self.folder / "config.json")]
        code, stdout, stderr = self.run(*arguments)
        assert code == 0, stderr
        return dict(json.loads(stdout)["tools"])

    def arguments_file(self, args: Any = None, **fields: Any) -> str:
        """Write an arguments file and return its path; a field given as None is written as null."""
        given = {
            "tool_name": "",
            "args": {} if args is None else args,
            "result_file": str(self.folder / "result.json"),
            "status_pipe": str(self.folder / "status"),
            "output_dir": str(self.folder / "output"),
            **fields,
        }
        path = self.folder / "arguments.json"
        path.write_text(json.dumps(given))
        return str(path)

    def call(self, args: Any = None, **fields: Any) -> CallOutcome:
        """Run one call; statuses go to a plain file, which the contract allows as a FIFO's stand-in."""
        status = self.folder / "status"
        status.write_bytes(b"")
        code, stdout, stderr = self.run(self.arguments_file(args, **fields))
        return self.outcome(code, stdout, stderr)

    def outcome(self, code: int, stdout: str, stderr: str) -> CallOutcome:
        """Collect what a call that has ended left behind."""
        result = self.folder / "result.json"
        envelope = json.loads(result.read_bytes(), parse_constant=_refuse) if result.exists() else None
        status = self.folder / "status"
        lines = status.read_text().splitlines() if status.is_file() else []
        statuses = [json.loads(line)["status"] for line in lines]
        return CallOutcome(code, envelope, stdout, stderr, statuses, self.folder / "output")


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} in the result is not JSON")
