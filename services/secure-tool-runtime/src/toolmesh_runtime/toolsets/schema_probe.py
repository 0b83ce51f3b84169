"""Asks a program for the tools it holds: `--schema`, in a sandbox of its own."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.tool_description import ToolDescriptions, parse_tool_descriptions
from toolmesh_runtime.process.confinement import Confinement, ToolProgram
from toolmesh_runtime.toolsets.presentation import presented
from toolmesh_runtime.toolsets.python_traceback import failed_at, hiding_file, missing_module

__all__ = ["ProbeError", "describe_program"]

_CONFIG_FILE: Final = "tool_config.json"
_SHOWN: Final = 500


class ProbeError(ToolmeshError):
    """Raised when a program can't be asked, or gives no usable answer.

    Attributes:
        reason: The message without the place.
        cure: What to do about it, if that can be told.
        log: All that it wrote to stderr.
        place: File below the program's folder, and line, where it failed, if it says.
    """

    default_code = ErrorCode.INIT_ERROR

    def __init__(self, message: str, *, log: str = "", place: tuple[str, int] | None = None, hiding: str = "") -> None:
        self.cure = ""
        if module := missing_module(log):
            self.cure = f"install it beside the program: pip install --target python {module}, in the program's folder"
        elif hiding:
            self.cure = f"rename {hiding}: it hides the module of this name of Python's own library"
        hint = self.cure or "`toolmesh tool validate FOLDER` shows the whole error"
        super().__init__(message if place is None else f"{place[0]}:{place[1]}: {message}", hint=hint)
        self.reason = message
        self.log = log
        self.place = place


async def describe_program(
    confinement: Confinement, program: ToolProgram, *, limit_s: float, tool_config: Mapping[str, Any] | None = None
) -> ToolDescriptions:
    """Return what a program says of its tools.

    Args:
        confinement: The sandbox to start it in.
        program: What to start.
        limit_s: Seconds it may take.
        tool_config: The operator's configuration, for tools whose schema depends on it.

    Raises:
        ProbeError: it crashed, ran too long or wrote no schema; the message has its last line of stderr.
        SandboxError: the sandbox can't be had.
    """
    async with confinement.backend.workspaces.new() as workspace:
        arguments = ["--schema"]
        if tool_config is not None:
            workspace.write_file(_CONFIG_FILE, json.dumps(tool_config).encode())
            arguments += ["--config", str(confinement.backend.inside(workspace) / _CONFIG_FILE)]
        async with confinement.start(program, tuple(arguments), workspace, limit_s) as process:
            ended = await process.wait()
    stderr = ended.stderr.decode(errors="replace").strip()
    if ended.setup_failed is not None:
        raise ProbeError(f"it could not be started: {ended.setup_failed[:_SHOWN]}", log=stderr)
    if ended.timed_out:
        raise ProbeError(f"--schema took longer than {limit_s:g} s", log=stderr)
    if ended.code != 0:
        how = f"exit code {ended.code}" if ended.signal is None else f"signal {ended.signal}"
        last = stderr.splitlines()[-1] if stderr else "it wrote nothing to stderr"
        place, hiding = failed_at(stderr, program.folder), hiding_file(stderr, program.folder)
        raise ProbeError(f"--schema ended with {how}: {last[:_SHOWN]}", log=stderr, place=place, hiding=hiding)
    try:
        found = parse_tool_descriptions(ended.stdout)
    except ToolmeshError as error:
        raise ProbeError(f"--schema gave no usable answer: {error.message}", log=stderr) from error
    if program.strict:
        return found
    return replace(found, tools={name: presented(said) for name, said in found.tools.items()})
