"""Finds the tools that a path on the command line means: a program, a manifest, or a folder with manifests."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.manifest import Manifest, ToolManifest, load_manifest
from toolmesh_runtime.toolsets.locate import (
    MANIFEST_NAME,
    Program,
    ProgramMissingError,
    find_manifests,
    find_program,
    lone_program,
)

__all__ = ["Entry", "Found", "entries_of", "find_entries"]

_MANIFEST_SUFFIXES: Final = frozenset({".yaml", ".yml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A tool of a manifest, or a program that stands alone.

    Attributes:
        name: The manifest's name for it; "" for a lone program, whose tools have the names that it gives them.
        manifest: How it runs.
        path: The manifest or the program, for messages.
        program: Where it is; None if it is not where the manifest says.
        missing: Why there is none.
    """

    name: str
    manifest: ToolManifest
    path: Path
    program: Program | None
    missing: ProgramMissingError | None = None

    @property
    def is_alone(self) -> bool:
        """Whether no manifest tells of it."""
        return not self.name


@dataclass(frozen=True, slots=True)
class Found:
    """What a path means.

    Attributes:
        entries: The tools.
        problems: What is wrong with other tools of the manifests.
        manifests: The manifests that were read.
    """

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()
    manifests: tuple[Manifest, ...] = ()


def find_entries(place: Path) -> Found:
    """Return the tools of a folder, a manifest, or a program; of a program with its manifest, what that says of it.

    Raises:
        ConfigError: a folder without manifests, or a manifest that can't be used as a whole.
        ToolmeshError: there is no such file.
    """
    if place.is_dir() or place.suffix in _MANIFEST_SUFFIXES:
        return entries_of(load_manifest(path) for path in find_manifests([place]))
    if not place.is_file():
        raise ToolmeshError(
            f"{place} is not there",
            code=ErrorCode.INVALID_CONFIGURATION,
            hint="give a program, a manifest, or a folder with a manifest.yaml; `toolmesh tool init NAME` makes one",
        )
    problems: list[Problem] = []
    for folder in place.absolute().parents[:2]:
        if (folder / MANIFEST_NAME).is_file():
            try:
                found = entries_of([load_manifest(folder / MANIFEST_NAME)])
            except ConfigError as error:
                problems += error.problems  # it may be something else's manifest
                continue
            own = tuple(entry for entry in found.entries if _is(entry, place))
            if own:
                return Found(own, (), found.manifests)
    alone = ToolManifest(executable=place.name, tool_dir=".")
    entry = Entry(name="", manifest=alone, path=place, program=lone_program(place))
    return Found((entry,), tuple(problems))


def entries_of(manifests: Iterable[Manifest]) -> Found:
    """Return the tools of manifests that were read, one for each of their names."""
    read = tuple(manifests)
    entries = tuple(_entry(manifest.path, name, tool) for manifest in read for name, tool in manifest.tools.items())
    return Found(entries, tuple(problem for manifest in read for problem in manifest.problems), read)


def _entry(path: Path, name: str, tool: ToolManifest) -> Entry:
    try:
        return Entry(name=name, manifest=tool, path=path, program=find_program(path, name, tool))
    except ProgramMissingError as error:
        return Entry(name=name, manifest=tool, path=path, program=None, missing=error)


def _is(entry: Entry, place: Path) -> bool:
    return entry.program is not None and (entry.program.folder / entry.program.path).samefile(place)
