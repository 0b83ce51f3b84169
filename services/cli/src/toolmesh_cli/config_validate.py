"""`toolmesh config validate`: everything that is wrong with configuration files."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from toolmesh_cli import exit_codes
from toolmesh_cli.config_kinds import KINDS, recognise
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_contracts.access.loading import load_authorization
from toolmesh_contracts.access.role_file import load_roles
from toolmesh_contracts.access.user_file import load_users
from toolmesh_contracts.agent_config.loading import AgentFile, load_agent_file
from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_contracts.duplicate_tools import check_duplicate_tools
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.executor_config import load_executor_config
from toolmesh_contracts.manifest import Manifest, load_manifest
from toolmesh_contracts.model_loading import read_document
from toolmesh_contracts.vessel import load_declared_tool, load_vessel
from toolmesh_contracts.worker_config import load_worker_config

__all__ = ["run_config_validate"]

_VESSEL_NAME = "vessel.toml"


def run_config_validate(files: Sequence[Path], kind: str | None) -> int:
    """Print each file's kind or its problems, then a summary; return the exit code.

    Raises:
        ToolmeshError: there is no such kind.
    """
    if kind is not None and kind not in KINDS:
        raise ToolmeshError(
            f"--kind {kind!r} is not known", code=ErrorCode.INVALID_REQUEST, hint=f"use {', '.join(KINDS)}"
        )
    terminal = Terminal.stdout()
    check = _Check(kind)
    for file in files:
        check.file(file, terminal)
    check.together(terminal)
    if check.problems:
        count = f"{check.problems} problem{'' if check.problems == 1 else 's'}"
        terminal.line(f"{count} in {len(files)} file{'' if len(files) == 1 else 's'}")
        return exit_codes.USAGE
    return exit_codes.OK


class _Check:
    """The files checked so far."""

    def __init__(self, kind: str | None) -> None:
        self._kind = kind
        self._manifests: list[Manifest] = []
        self._agents: list[AgentFile] = []
        self.problems = 0

    def file(self, path: Path, terminal: Terminal) -> None:
        """Check one file and print what was found."""
        kind, hint = self._kind or "", ""
        try:
            kind = kind or recognise(read_document(path))
            problems = self._problems(path, kind)
        except ConfigError as error:
            problems, hint = error.problems, error.hint
        if not problems:
            terminal.line(f"{terminal.paint('ok', Colour.GOOD)}: {visible(str(path))} ({kind})")
        self._tell(problems, hint, terminal)

    def together(self, terminal: Terminal) -> None:
        """Check what only several files together can have wrong."""
        try:
            check_duplicate_tools(self._manifests)
        except ConfigError as error:
            self._tell(error.problems, error.hint, terminal)
        if self._agents and self._manifests:
            # Here, because only this needs a sandbox, which takes long to import.
            from toolmesh_cli.agent_settings import settings_problems

            self._tell(asyncio.run(settings_problems(self._agents, self._manifests, Terminal.stderr())), "", terminal)

    def _tell(self, problems: Sequence[Problem], hint: str, terminal: Terminal) -> None:
        for problem in problems:
            terminal.line(visible(str(problem)))
        if hint:
            terminal.line(f"  {terminal.paint('cure:', Colour.WARNING)} {visible(hint)}")
        self.problems += len(problems)

    def _problems(self, path: Path, kind: str) -> tuple[Problem, ...]:
        """Return what is wrong with one part of a file; raises ConfigError for what spoils all of it."""
        match kind:
            case "worker":
                load_worker_config(path, os.environ)
            case "executor":
                load_executor_config(path, os.environ)
            case "agent":
                file = load_agent_file(path, os.environ)
                self._agents.append(file)
                failed = [tool for agent in file.agents for tool in agent.failed_tools]
                return (*file.problems, *(problem for tool in failed for problem in tool.problems))
            case "manifest":
                manifest = load_manifest(path)
                self._manifests.append(manifest)
                return manifest.problems
            case "authorization":
                load_authorization(path, os.environ)
            case "roles":
                load_roles(path)
            case "users":
                load_users(path, None)
            case _:
                if path.name == _VESSEL_NAME:
                    return load_vessel(path.parent).problems
                load_declared_tool(path)
        return ()
