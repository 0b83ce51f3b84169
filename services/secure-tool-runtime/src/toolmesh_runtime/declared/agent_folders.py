"""Makes an agent folder a package that calls can name: a copy under the digest of its content."""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_contracts.tool_places import VESSEL_NAME
from toolmesh_contracts.vessel import AGENT_INSIDE, Vessel, load_vessel
from toolmesh_sandbox.errors import SandboxError
from toolmesh_sandbox.policy import Mount
from toolmesh_sandbox.published import publish_tree

__all__ = ["AgentPackage", "publish_agent"]

_AGENTS: Final = "agent"
_DATA: Final = "data"
"""Where copies lie below the sandbox's base folder."""


@dataclass(frozen=True, slots=True)
class AgentPackage:
    """An agent folder as it was when it was read.

    Attributes:
        folder: The agent folder.
        package: Its copy, whose name is the digest of its content.
        vessel: What the copy says.
        mounts: What the sandbox shows of it and beside it, all read-only.
        workdir: Where its commands start, as a path in the sandbox; None: in the workspace.
        problems: What is wrong with it; paths are those of the agent folder.
        copied: Mounted folders that are shown as copies, because the tool's own user could not enter them.
    """

    folder: Path
    package: Path
    vessel: Vessel
    mounts: tuple[Mount, ...]
    workdir: PurePosixPath | None
    problems: tuple[Problem, ...]
    copied: tuple[Path, ...] = ()

    @property
    def version(self) -> str:
        """SHA-256 of the folder's content."""
        return self.package.name

    def source_of(self, path: Path) -> Path:
        """Return the file of which `path` is the copy."""
        return self.folder / path.relative_to(self.package)


def publish_agent(folder: Path, base: Path, hidden: Iterable[Path]) -> AgentPackage:
    """Copy an agent folder to where a tool's own user can read it, and read the copy.

    Args:
        folder: The agent folder.
        base: The sandbox's base folder.
        hidden: Files and folders of the worker that no mount may show.

    Raises:
        ConfigError: `vessel.toml` can't be used, or the folder or one of its mounts can't be shown.
    """
    folder = folder.absolute()
    try:
        package = publish_tree(folder, base, _AGENTS)
    except SandboxError as error:
        raise ConfigError([Problem(file=str(folder / VESSEL_NAME), message=str(error))]) from error
    try:
        vessel = load_vessel(package)
    except ConfigError as error:
        raise ConfigError([_of_source(problem, package, folder) for problem in error.problems]) from error
    base = base.resolve()
    forbidden = (base, *(path.resolve() for path in hidden))
    mounts, copied = [Mount(package, AGENT_INSIDE)], []
    for number, wanted in enumerate(vessel.settings.sandbox.mounts):
        source = Path(os.path.realpath(folder / wanted.source))
        problem = _mount_problem(source, base, forbidden)
        if problem:
            path = ("sandbox", "mounts", number, "source")
            raise ConfigError(
                [Problem(file=str(folder / VESSEL_NAME), path=path, message=problem, found=repr(wanted.source))]
            )
        shown = _reachable(source, base, folder)
        if shown != source:
            copied.append(source)
        mounts.append(Mount(shown, PurePosixPath(wanted.target)))
    workdir = None if vessel.settings.workdir is None else PurePosixPath(vessel.settings.workdir)
    if workdir is not None and not _is_shown(workdir, mounts):
        message = "there is no such folder in what is shown there"
        raise ConfigError(
            [Problem(file=str(folder / VESSEL_NAME), path=("workdir",), message=message, found=repr(str(workdir)))]
        )
    problems = tuple(_of_source(problem, package, folder) for problem in vessel.problems)
    return AgentPackage(folder, package, vessel, tuple(mounts), workdir, problems, tuple(copied))


def _of_source(problem: Problem, package: Path, folder: Path) -> Problem:
    """Name the file that a person wrote, not its copy."""
    return replace(
        problem,
        file=problem.file.replace(str(package), str(folder)),
        message=problem.message.replace(str(package), str(folder)),
    )


def _mount_problem(source: Path, base: Path, forbidden: Iterable[Path]) -> str:
    if not source.is_dir():
        return "there is no such folder"
    if source.is_relative_to(base) or any(path.is_relative_to(source) for path in forbidden):
        return "this folder holds what belongs to the worker itself, such as its keys, and no tool may see that"
    return ""


def _reachable(source: Path, base: Path, folder: Path) -> Path:
    """Return a folder that the tool's own user can enter: `source`, or for a root worker in need of it a copy."""
    if os.getuid() != 0 or all(_open_to_all(path) for path in (source, *source.parents)):
        return source
    try:
        return publish_tree(source, base, _DATA)
    except SandboxError as error:
        raise ConfigError(
            [Problem(file=str(folder / VESSEL_NAME), path=("sandbox", "mounts"), message=str(error))]
        ) from error


def _open_to_all(path: Path) -> bool:
    return bool(path.stat().st_mode & stat.S_IXOTH)


def _is_shown(workdir: PurePosixPath, mounts: Iterable[Mount]) -> bool:
    return any(
        workdir.is_relative_to(mount.target) and (Path(mount.source) / workdir.relative_to(mount.target)).is_dir()
        for mount in mounts
    )
