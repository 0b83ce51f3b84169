"""`toolmesh tool validate`: everything that is wrong with toolsets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from toolmesh_cli import exit_codes
from toolmesh_cli.author_bench import author_bench
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_runtime.workbench.checking import Checked, check_places

__all__ = ["run_validate"]

_LOG_LINES: Final = 30
"""The end of what a program wrote."""


async def run_validate(places: Sequence[Path], *, sandboxed: bool) -> int:
    """Print each problem and its cure, then a summary; return the exit code."""
    async with author_bench(Terminal.stderr(), sandboxed=sandboxed) as bench:
        checked = await check_places(places, bench)
    _print(checked, Terminal.stdout())
    return exit_codes.USAGE if checked.faults else exit_codes.OK


def _print(checked: Checked, terminal: Terminal) -> None:
    for fault in checked.faults:
        terminal.line(visible(str(fault.problem)))
        for line in fault.log.splitlines()[-_LOG_LINES:]:
            terminal.line(f"  {terminal.paint(visible(line), Colour.FAINT)}")
        if fault.cure:
            terminal.line(f"  {terminal.paint('cure:', Colour.WARNING)} {visible(fault.cure)}")
    good = ", ".join(sorted(checked.tools))
    count = len(checked.faults)
    if count:
        problems = f"{count} problem{'' if count == 1 else 's'}"
        terminal.line(f"{problems}; usable tools: {good or 'none'}")
    else:
        terminal.line(f"ok: {good}" if good else "ok, but there are no tools")
