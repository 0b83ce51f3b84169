"""Finds manifests, and the program of each of their tools."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.manifest import ToolManifest

__all__ = ["MANIFEST_NAME", "Program", "ProgramMissingError", "find_manifests", "find_program", "lone_program"]

MANIFEST_NAME = "manifest.yaml"
_SHEBANG_BYTES = 256


class ProgramMissingError(ToolmeshError):
    """Raised when a tool's program is at none of the places where it is looked for."""

    default_code = ErrorCode.INIT_ERROR


@dataclass(frozen=True, slots=True)
class Program:
    """A tool's program.

    Attributes:
        folder: The tool's folder, which is shown to it read-only.
        path: The program in it.
        is_python: It is run by the manifest's interpreter and not by its own shebang, which may name a Python that
            only its builder had.
    """

    folder: Path
    path: PurePosixPath
    is_python: bool


def find_manifests(toolsets: Sequence[Path]) -> list[Path]:
    """Return the manifests that the given manifests, toolset folders and folders of toolset folders hold.

    Raises:
        ConfigError: a path has none; the message names it.
    """
    found: list[Path] = []
    for path in toolsets:
        if path.is_file():
            manifests = [path]
        elif (path / MANIFEST_NAME).is_file():
            manifests = [path / MANIFEST_NAME]
        else:
            manifests = sorted(path.glob(f"*/{MANIFEST_NAME}"))
        if not manifests:
            message = f"has no {MANIFEST_NAME}, and neither has a folder in it"
            raise ConfigError([Problem(file=str(path), message=message if path.exists() else "does not exist")])
        found.extend(manifest for manifest in manifests if manifest not in found)
    return found


def find_program(manifest: Path, name: str, tool: ToolManifest) -> Program:
    """Find a tool's program: in `tool_dir` below the manifest's folder, then beside that folder.

    When `tool_dir` is the tool's own key, as by default, the program may also stand beside the manifest. In each folder
    it is looked for as `<executable>`, `python/bin/<executable>` and `<executable>.py`.

    Raises:
        ProgramMissingError: it is at none of these places; the message lists them. Or a link leads out of them.
    """
    tried = []
    folders = list(dict.fromkeys(_folders(manifest, name, tool)))
    for folder in folders:
        _refuse_links(manifest.parent.absolute(), folder)
        for relative in (tool.executable, f"python/bin/{tool.executable}", f"{tool.executable}.py"):
            path = folder / relative
            if path.is_file():
                return Program(folder, PurePosixPath(relative), _is_python(path, tool.runtime))
            tried.append(str(path))
    raise ProgramMissingError(
        f"executable {tool.executable!r} is not there; looked for {', '.join(tried)}",
        hint=_cure(tool, next((folder for folder in folders if folder.is_dir()), folders[0])),
    )


def _cure(tool: ToolManifest, folder: Path) -> str:
    cure = "set `executable` and `tool_dir` in the manifest to where the program is"
    return f"build it: go build -o {tool.executable} . in {folder}; or {cure}" if tool.runtime == "go" else cure


def lone_program(path: Path) -> Program:
    """Return a program that no manifest tells of."""
    return Program(path.absolute().parent, PurePosixPath(path.name), _is_python(path, None))


def _folders(manifest: Path, name: str, tool: ToolManifest) -> Iterator[Path]:
    home = manifest.parent.absolute()
    yield home / tool.tool_dir
    yield home.parent / tool.tool_dir
    if tool.tool_dir == name:
        yield home


def _refuse_links(home: Path, folder: Path) -> None:
    """A toolset must not show what its author could only link to: a link on the way to `tool_dir` is refused."""
    step = folder
    while step not in (home, home.parent):
        if step.is_symlink():
            raise ProgramMissingError(f"{step} is a link", hint="put the tool's own folder there")
        step = step.parent


def _is_python(path: Path, runtime: str | None) -> bool:
    if runtime is not None:
        return runtime == "python"
    if path.suffix == ".py":
        return True
    with path.open("rb") as file:
        first, _, second = file.read(_SHEBANG_BYTES).partition(b"\n")
    if not first.startswith(b"#!"):
        return False
    if first.split()[0] == b"#!/bin/sh" and second.startswith(b"'''exec' "):
        return True  # how pip writes the path of an interpreter that is too long for a first line, or has blanks
    words = first[2:].split()
    names = [os.path.basename(word) for word in words[:3]]  # noqa: PTH119 - bytes, and often no path
    return any(name.startswith(b"python") for name in names)
