"""Small toolsets that tests write into a folder of their own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ECHO = '''
from toolmesh_sdk import SandboxToolContextFacade, ToolResult, tool_cli


def echo(text: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Give back a text.

    Args:
        text: What to give back.
    """
    ctx.send_status(f"echoing {text}")
    return ToolResult.ok(f"you said {text}", data={"text": text})


cli = tool_cli(echo)

if __name__ == "__main__":
    cli()
'''

FAILING = '''
from toolmesh_sdk import SandboxToolContextFacade, ToolResult, tool_cli


def fail(reason: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Fail with a reason.

    Args:
        reason: Why.
    """
    return ToolResult.error(f"failed because {reason}")


cli = tool_cli(fail)

if __name__ == "__main__":
    cli()
'''

SLEEPING = '''
import time

from toolmesh_sdk import SandboxToolContextFacade, ToolResult, tool_cli


def sleep(seconds: float, ctx: SandboxToolContextFacade) -> ToolResult:
    """Sleep for a while.

    Args:
        seconds: How long.
    """
    ctx.send_status("sleeping")
    time.sleep(seconds)
    return ToolResult.ok(f"slept {seconds} s")


cli = tool_cli(sleep)

if __name__ == "__main__":
    cli()
'''

WRITING = '''
import pathlib

from toolmesh_sdk import DataObject, SandboxToolContextFacade, ToolResult, tool_cli


def write(name: str, text: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Make a file.

    Args:
        name: The file's name.
        text: What is in it.
    """
    return ToolResult.ok("done", data_objects=[DataObject(name=name, content=text)])


cli = tool_cli(write)

if __name__ == "__main__":
    cli()
'''


READING = '''
from toolmesh_sdk import Artifact, SandboxToolContextFacade, ToolResult, tool_cli


def read(doc: Artifact, more: list[Artifact], ctx: SandboxToolContextFacade) -> ToolResult:
    """Count the bytes of files.

    Args:
        doc: A file.
        more: More files.
    """
    files = [doc, *more]
    return ToolResult.ok(", ".join(f"{one.filename} {len(one.as_bytes())}" for one in files))


cli = tool_cli(read)

if __name__ == "__main__":
    cli()
'''


EFFECT = '''
import os
import time

from toolmesh_sdk import SandboxToolContextFacade, ToolResult, tool_cli


def effect(name: str, file: str, seconds: float, ctx: SandboxToolContextFacade) -> ToolResult:
    """Leave a line in a file, and take a while.

    Args:
        name: What the line says.
        file: The file, which exists, outside of any sandbox.
        seconds: How long it takes after that.
    """
    line = os.open(file, os.O_WRONLY | os.O_APPEND)
    os.write(line, f"{name}\\n".encode())
    os.close(line)
    ctx.send_status("done, but not over")
    time.sleep(seconds)
    return ToolResult.ok(name)


cli = tool_cli(effect)

if __name__ == "__main__":
    cli()
'''


def write_toolset(folder: Path, tools: Mapping[str, tuple[str, Mapping[str, Any]]]) -> Path:
    """Writes a toolset: for each tool its Python source and its manifest keys; returns the folder."""
    folder.mkdir(parents=True)
    manifest: dict[str, Any] = {"version": 1, "tools": {}}
    for name, (source, keys) in tools.items():
        (folder / name).mkdir()
        (folder / name / f"{name}.py").write_text(source.lstrip())
        manifest["tools"][name] = {"executable": name, "timeout_seconds": 30, **keys}
    # JSON is YAML.
    (folder / "manifest.yaml").write_text(json.dumps(manifest, indent=2))
    return folder
