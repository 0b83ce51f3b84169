"""`toolmesh up`: a mesh that runs until Ctrl-C."""

import asyncio
import json
import shlex
from typing import Any, Final

import msgspec

from toolmesh_cli import exit_codes
from toolmesh_cli.library_logs import library_warnings
from toolmesh_cli.mesh import Mesh, running_mesh
from toolmesh_cli.mesh_listing import describe_problem
from toolmesh_cli.mesh_options import MeshOptions
from toolmesh_cli.stop_requests import stop_requests
from toolmesh_cli.terminal import Terminal
from toolmesh_client.profile import data_folder
from toolmesh_contracts.envelopes.catalog import CatalogEntry

__all__ = ["ready_line", "run_up"]

_SAMPLES: Final[dict[str, Any]] = {
    "string": "...",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
}


async def run_up(options: MeshOptions) -> int:
    """Run a mesh until it is asked to stop; return the exit code.

    Raises:
        ToolmeshError: it can't start.
        ExceptionGroup: of the same.
    """
    terminal = Terminal.stderr()
    lifetime = _Lifetime(options, terminal)
    with library_warnings(terminal), stop_requests(first=lifetime.stop, again=lifetime.kill):
        try:
            await lifetime.run()
        except asyncio.CancelledError:
            if not lifetime.stopped_early:
                raise
            terminal.line("stopped before it was ready")
            return exit_codes.CANCELLED
    return exit_codes.CANCELLED if lifetime.killed else exit_codes.OK


class _Lifetime:
    """From start to stop, whenever that is asked for."""

    def __init__(self, options: MeshOptions, terminal: Terminal) -> None:
        self._options = options
        self._terminal = terminal
        self._task = asyncio.current_task()
        self._mesh: Mesh | None = None
        self._stop = asyncio.Event()
        self.stopped_early = False
        self.killed = False

    async def run(self) -> None:
        async with running_mesh(self._options, self._terminal) as mesh:
            self._mesh = mesh
            for problem, workers in mesh.listing.problems().items():
                if problem.message not in mesh.told:
                    self._terminal.warning(describe_problem(problem, workers))
            Terminal.stdout().line(ready_line(mesh))
            await self._stop.wait()

    def stop(self) -> None:
        """Drain a mesh that runs, give up one that is still starting."""
        self._stop.set()
        if self._mesh is None and self._task is not None:
            self.stopped_early = True
            self._task.cancel()

    def kill(self) -> None:
        """End everything at once."""
        self.killed = True
        self._terminal.warning("ending everything at once")
        if self._mesh is not None:
            self._mesh.kill()


def ready_line(mesh: Mesh) -> str:
    """Return the line that tells people and scripts that the mesh serves, with a call to try."""
    tools = mesh.listing.tools()
    options = mesh.options
    count = f"{len(tools)} tool{'' if len(tools) == 1 else 's'} in pool {options.pool}"
    workers = f"{options.workers} worker{'' if options.workers == 1 else 's'}"
    line = f"toolmesh is ready: {count}, {workers}"
    if not tools:
        return line
    command = ["toolmesh", "call", tools[0].newest.tool, "--args", json.dumps(_sample_arguments(tools[0].newest))]
    if options.data_folder != data_folder().absolute():
        command += ["--data", str(options.data_folder)]
    return f"{line}; try: {shlex.join(command)}"


def _sample_arguments(entry: CatalogEntry) -> dict[str, Any]:
    """Return a value of the right type for each required parameter."""
    schema = msgspec.json.decode(entry.parameters)
    if not isinstance(schema, dict):
        return {}
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return {}
    return {name: _sample(properties.get(name)) for name in required if isinstance(name, str)}


def _sample(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return "..."
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0]
    kind = schema.get("type")
    return _SAMPLES.get(kind, "...") if isinstance(kind, str) else "..."
