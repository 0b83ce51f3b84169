"""`toolmesh tools list`: the tools that live workers serve, and what could not be loaded."""

from pathlib import Path
from typing import Any, Final

import msgspec

from toolmesh_cli import exit_codes
from toolmesh_cli.call_output import print_json
from toolmesh_cli.columns import table
from toolmesh_cli.mesh_connection import connect_to_mesh
from toolmesh_cli.mesh_listing import ListedTool, MeshListing, describe_problem, read_listing
from toolmesh_cli.terminal import Colour, Terminal, visible

__all__ = ["listing_document", "listing_lines", "run_tools_list"]

_SHORT_VERSION: Final = 8


async def run_tools_list(data_folder: Path | None, *, as_json: bool) -> int:
    """Print the tools; return the exit code.

    Raises:
        ToolmeshError: no mesh runs here.
    """
    async with connect_to_mesh(data_folder) as mesh:
        listing = await read_listing(mesh.client)
    stdout = Terminal.stdout()
    if as_json:
        print_json(listing_document(listing), stdout)
    else:
        for line in listing_lines(listing, stdout):
            stdout.line(line)
        stderr = Terminal.stderr()
        for problem, workers in listing.problems().items():
            stderr.problem(describe_problem(problem, workers))
    return exit_codes.OK


def listing_document(listing: MeshListing) -> dict[str, Any]:
    """Return the document of `--json`."""
    return {
        "tools": [
            {
                "name": tool.newest.tool,
                "pool": tool.newest.pool,
                "version": tool.newest.version,
                "versions": tool.versions,
                "workers": list(tool.workers),
                "description": tool.newest.description,
                "parameters": _parameters(tool),
                "sdk": tool.newest.sdk,
                "required_scopes": list(tool.newest.required_scopes),
            }
            for tool in listing.tools()
        ],
        "problems": [
            {
                "source": problem.source,
                "tool": problem.tool,
                "code": problem.code.value,
                "message": problem.message,
                "workers": list(workers),
            }
            for problem, workers in listing.problems().items()
        ],
    }


def listing_lines(listing: MeshListing, terminal: Terminal) -> list[str]:
    """Return a table of the tools; descriptions end where the terminal does."""
    tools = listing.tools()
    if not tools:
        return ["no worker serves any tool"]
    header = ("NAME", "POOL", "WORKERS", "VERSION", "DESCRIPTION")
    lines = table([header, *(_row(tool) for tool in tools)], terminal.width)
    lines[0] = terminal.paint(lines[0], Colour.STRONG)
    return lines


def _row(tool: ListedTool) -> tuple[str, ...]:
    version = tool.newest.version[:_SHORT_VERSION] + (f" (+{tool.versions - 1})" if tool.versions > 1 else "")
    first_line = next(iter(tool.newest.description.strip().splitlines()), "")
    return tool.newest.tool, tool.newest.pool, str(len(tool.workers)), version, visible(first_line)


def _parameters(tool: ListedTool) -> Any:
    return msgspec.json.decode(tool.newest.parameters)
