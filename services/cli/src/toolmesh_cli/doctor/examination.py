"""Runs the doctor's checks and tells what they gave."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

from toolmesh_cli import exit_codes
from toolmesh_cli.call_output import print_json
from toolmesh_cli.doctor.broker import check_server_binary
from toolmesh_cli.doctor.finding import Finding, State
from toolmesh_cli.doctor.machine import check_disk, check_kernel, check_python, check_tool_python
from toolmesh_cli.doctor.mesh import check_mesh
from toolmesh_cli.doctor.sandbox import check_bwrap, check_profiles
from toolmesh_cli.mesh_connection import folder_of
from toolmesh_cli.terminal import Colour, Terminal, visible

__all__ = ["run_doctor"]

_COLOURS: Final[Mapping[State, Colour]] = {
    State.OK: Colour.GOOD,
    State.WARNING: Colour.WARNING,
    State.PROBLEM: Colour.BAD,
    State.SKIPPED: Colour.FAINT,
}


async def run_doctor(data_folder: Path | None, *, as_json: bool) -> int:
    """Check everything; return 0, or 1 if there is a problem. A warning is none."""
    terminal = Terminal.stdout()
    findings: list[Finding] = []
    async for finding in _examine(folder_of(data_folder)):
        findings.append(finding)
        if not as_json:
            _print(finding, terminal)
    problems = sum(finding.state is State.PROBLEM for finding in findings)
    if as_json:
        told = [
            {"check": one.check, "state": one.state.value, "detail": one.detail, "cure": one.cure} for one in findings
        ]
        print_json({"ok": not problems, "findings": told}, terminal)
    else:
        warnings = sum(finding.state is State.WARNING for finding in findings)
        terminal.line(f"doctor: {_count(problems, 'problem')}, {_count(warnings, 'warning')}")
    return exit_codes.FAILED if problems else exit_codes.OK


async def _examine(folder: Path) -> AsyncIterator[Finding]:
    yield await asyncio.to_thread(check_python)
    yield check_tool_python()
    for finding in check_kernel():
        yield finding
    yield await asyncio.to_thread(check_bwrap)
    for finding in await check_profiles():
        yield finding
    yield await asyncio.to_thread(check_server_binary)
    for finding in check_disk(folder):
        yield finding
    for finding in await check_mesh(folder):
        yield finding


def _print(finding: Finding, terminal: Terminal) -> None:
    state = terminal.paint(f"{finding.state.value:<8}", _COLOURS[finding.state])
    terminal.line(f"{state} {finding.check:<20} {visible(finding.detail)}")
    if finding.cure:
        terminal.line(f"{'':<29} {terminal.paint('cure:', Colour.WARNING)} {visible(finding.cure)}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
