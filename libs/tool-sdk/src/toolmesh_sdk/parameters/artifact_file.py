"""A parameter that is an artifact: the model names a file, the tool gets its content."""

# ruff: noqa: D102 - ParameterType in base.py says what schema and build do
from __future__ import annotations

from .base import ValueProblemError, problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from toolmesh_sdk.artifacts import Artifact, DeliveredArtifacts

    from .base import SchemaBook


class ArtifactFile:
    """`Artifact`: found by the argument's key (`doc`, `docs[0]`), else by file name."""

    __slots__ = ()
    name = "artifact"
    json_types = ("string",)

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        return {"type": "string"}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Artifact:
        found = files.by_argument(path)
        if found is None and path.endswith("[0]"):
            found = files.by_argument(path.removesuffix("[0]"))
        if found is None:
            if not isinstance(value, str):
                raise problem(path, "the name of an artifact", value)
            # A model may name a version: `report.md:3`.
            name, _, version = value.rpartition(":")
            try:
                found = files.by_name(name, version) if name and version.isdigit() else files.by_name(value)
            except FileNotFoundError as missing:
                raise ValueProblemError(f"{path}: {missing}") from None
        try:
            return found.load()
        except OSError as unreadable:
            raise ValueProblemError(f"{path}: {unreadable}") from None
