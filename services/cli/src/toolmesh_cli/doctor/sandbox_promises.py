"""`toolmesh doctor --sandbox`: attacks every promise of every sandbox profile on this machine."""

import os
from dataclasses import replace
from pathlib import Path

from toolmesh_cli import exit_codes
from toolmesh_cli.call_output import print_json
from toolmesh_cli.terminal import Terminal, visible
from toolmesh_contracts.worker_config import load_worker_config
from toolmesh_runtime.sandbox_settings import named_profiles, sandbox_settings
from toolmesh_sandbox import self_test
from toolmesh_sandbox.profiles import PROFILES
from toolmesh_sandbox.settings import Mode, SandboxSettings

__all__ = ["run_sandbox_test", "settings_of"]


def settings_of(worker: Path | None) -> SandboxSettings:
    """Return what to test: what a worker's configuration file and its manifests ask for, or every profile by default.

    Raises:
        ConfigError: the file can't be used.
    """
    if worker is None:
        return SandboxSettings(profiles=tuple(PROFILES))
    config, folder = load_worker_config(worker, os.environ).model, worker.absolute().parent
    settings = sandbox_settings(config, folder)
    if settings.mode is not Mode.BWRAP:
        return settings  # which refuses the tools of some profiles, and serves the others
    more = named_profiles(config, folder) - set(settings.profiles)
    return replace(settings, profiles=(*settings.profiles, *sorted(more)))


async def run_sandbox_test(settings: SandboxSettings, *, as_json: bool) -> int:
    """Print which promises hold; return 0, or 1 if one does not."""
    report = await self_test.run(settings)
    terminal = Terminal.stdout()
    if as_json:
        print_json(report.to_json(), terminal)
    else:
        for line in report.lines():
            terminal.line(visible(line))
    return exit_codes.OK if report.ok else exit_codes.FAILED
