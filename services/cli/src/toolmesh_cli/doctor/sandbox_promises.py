"""`toolmesh doctor --sandbox`: attacks every promise of every sandbox profile on this machine."""

from toolmesh_cli import exit_codes
from toolmesh_cli.call_output import print_json
from toolmesh_cli.terminal import Terminal, visible
from toolmesh_sandbox import self_test
from toolmesh_sandbox.profiles import PROFILES
from toolmesh_sandbox.settings import SandboxSettings

__all__ = ["run_sandbox_test"]


async def run_sandbox_test(*, as_json: bool, settings: SandboxSettings | None = None) -> int:
    """Print which promises hold; return 0, or 1 if one does not."""
    report = await self_test.run(settings or SandboxSettings(profiles=tuple(PROFILES)))
    terminal = Terminal.stdout()
    if as_json:
        print_json(report.to_json(), terminal)
    else:
        for line in report.lines():
            terminal.line(visible(line))
    return exit_codes.OK if report.ok else exit_codes.FAILED
