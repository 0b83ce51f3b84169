"""Why a declared tool's command could not start, as far as that shows before it is tried."""

import shutil
from collections.abc import Iterator
from pathlib import PurePosixPath

from toolmesh_contracts.vessel import AGENT_INSIDE
from toolmesh_runtime.declared.command_run import PATH
from toolmesh_runtime.declared.declared_tool import DeclaredTool

__all__ = ["command_faults"]


def command_faults(tool: DeclaredTool) -> Iterator[tuple[str, str]]:
    """Yield each fault with its cure. Programs are looked for on this machine, whose /usr the sandbox shows."""
    if not tool.argv:
        return
    for part in map(PurePosixPath, tool.argv):
        inside = part.relative_to(AGENT_INSIDE) if part.is_relative_to(AGENT_INSIDE) else None
        if inside is not None and not (tool.program.folder / inside).exists():
            yield f"command names {{package}}/{inside}, which is not in the agent folder", "correct the path, or add it"
    program = PurePosixPath(tool.argv[0])
    if not program.is_relative_to(AGENT_INSIDE) and shutil.which(str(program), path=PATH) is None:
        cure = "correct its name, or install it on the workers; programs of the agent's own start with {package}/"
        yield f"there is no program {str(program)!r} in {PATH}", cure
