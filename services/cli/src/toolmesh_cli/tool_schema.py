"""`toolmesh tool schema`: what the catalog would say of tools."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec

from toolmesh_cli import exit_codes
from toolmesh_cli.author_bench import author_bench, checked_profile
from toolmesh_cli.terminal import Terminal
from toolmesh_cli.tool_choice import choose_entries, describe_chosen
from toolmesh_cli.tool_settings import read_settings
from toolmesh_contracts.wire import encode
from toolmesh_runtime.toolsets.loaded_tool import LoadedTool

__all__ = ["run_schema"]

_WORKER = "local"


async def run_schema(place: Path, tool: str | None, config: str | None, profile: str | None, *, sandboxed: bool) -> int:
    """Print a JSON list of catalog entries; return the exit code.

    Raises:
        ToolmeshError: a tool can't be described.
    """
    given = read_settings(config, os.environ)
    settings = None if given is None else given.values
    terminal = Terminal.stderr()
    entries = choose_entries(place, tool, terminal)
    async with author_bench(terminal, sandboxed=sandboxed, profile=checked_profile(profile)) as bench:
        if tool is not None:
            tools = [await describe_chosen(entries, tool, bench, settings)]
        else:
            tools = [one for entry in entries for one in (await bench.describe(entry, settings)).values()]
    Terminal.stdout().line(json.dumps([_entry(one) for one in tools], ensure_ascii=False, indent=2))
    return exit_codes.OK


def _entry(tool: LoadedTool) -> Any:
    return msgspec.json.decode(encode(tool.entry(tool.manifest.pool, _WORKER)))
