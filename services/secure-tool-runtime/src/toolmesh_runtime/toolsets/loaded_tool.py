"""A tool that this worker can run, and what the catalog says of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from toolmesh_contracts.envelopes.catalog import CatalogEntry, ToolProblem
from toolmesh_contracts.manifest import ToolManifest
from toolmesh_contracts.tool_description import ToolDescription
from toolmesh_runtime.arguments.rules import ArgumentRules
from toolmesh_runtime.process.confinement import ToolProgram

__all__ = ["Inventory", "LoadedTool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTool:
    """One tool, as of one version of its folder.

    Attributes:
        name: Its name in the manifest and the catalog.
        own_name: Its name in its own program, which the program looks it up by.
        version: SHA-256 of the folder's content.
        source: Manifest and entry, for messages.
        discovered_ms: Unix time in milliseconds at which this version was found.
        rules: What its arguments must be.
    """

    name: str
    own_name: str
    manifest: ToolManifest
    description: ToolDescription
    program: ToolProgram
    version: str
    source: str
    discovered_ms: int
    default_timeout_s: float
    rules: ArgumentRules = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        said = self.description
        rules = ArgumentRules.of(said.parameters, said.artifact_params, strict=self.program.strict)
        object.__setattr__(self, "rules", rules)  # derived once: compiling a schema takes longer than using it

    @property
    def timeout_s(self) -> float:
        """Wall clock of a call in seconds: the tool's own word, else the manifest's, else the worker's."""
        return self.description.timeout_seconds or self.manifest.timeout_seconds or self.default_timeout_s

    def entry(self, pool: str, worker: str) -> CatalogEntry:
        """Return what the catalog says of this tool."""
        said = self.description
        return CatalogEntry(
            tool=self.name,
            pool=pool,
            worker=worker,
            version=self.version,
            discovered_ms=self.discovered_ms,
            description=said.description,
            parameters=_raw(said.parameters),
            instructions=said.instructions,
            artifact_parameters=said.artifact_params,
            raw_string_arguments=said.raw_string_args,
            resolution_type=said.resolution_type,
            config_schema=_raw(said.config_schema) if said.config_schema else msgspec.UNSET,
            auth=_raw(said.auth) if said.auth is not None else msgspec.UNSET,
            volume_parameters=_raw(said.volume_params) if said.volume_params else msgspec.UNSET,
            output_schema=_raw(said.output_schema) if said.output_schema else msgspec.UNSET,
            sdk=said.sdk,
            required_scopes=self.manifest.required_scopes,
            idempotent=self.manifest.idempotent,
            max_attempts=self.manifest.max_attempts,
            timeout_ms=int(self.timeout_s * 1000),
            lane=self.manifest.lane,
            profile=self.program.policy.profile,
            source=self.source,
        )


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


@dataclass(frozen=True, slots=True)
class Inventory:
    """All that one reading of the toolset folders gave; replaced as a whole, never changed."""

    tools: Mapping[str, LoadedTool] = field(default_factory=dict)
    problems: tuple[ToolProblem, ...] = ()
