"""Arguments of a class tool, checked against the JSON Schema that it wrote itself."""

from __future__ import annotations

from .errors import InvalidArgumentsError
from .parameters.artifact_file import ArtifactFile
from .parameters.base import ValueProblemError, json_type
from .parameters.choices import OptionalOf
from .parameters.containers import ListOf
from .parameters.scalars import BOOLEAN, INTEGER, NUMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .artifacts import ArtifactTypeInfo, DeliveredArtifacts
    from .dynamic_tool import DynamicTool
    from .parameters.base import ParameterType

_SCALARS: dict[str, ParameterType] = {"integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN}


def arguments_by_schema(tool: DynamicTool, arguments: dict[str, Any], files: DeliveredArtifacts) -> dict[str, Any]:
    """Return a copy in which text stands for what the schema declares and artifacts are loaded.

    Raises:
        InvalidArgumentsError: A required one is missing, or a value cannot be what the schema declares.
    """
    schema = tool.parameters_schema or {}
    properties = schema.get("properties") or {}
    artifacts = tool.artifact_params
    built = dict(arguments)
    problems = [f"{name} is missing" for name in schema.get("required") or () if name not in arguments]
    for name, value in arguments.items():
        try:
            if name in artifacts:
                built[name] = _artifact_kind(artifacts[name]).build(value, name, files)
            elif isinstance(properties.get(name), dict):
                built[name] = _value(value, properties[name], name, files)
        except ValueProblemError as problem:
            problems.append(str(problem))
    if problems:
        raise InvalidArgumentsError(tool.tool_name, problems)
    return built


def _artifact_kind(info: ArtifactTypeInfo) -> ParameterType:
    kind: ParameterType = ListOf(ArtifactFile()) if info.is_list else ArtifactFile()
    return OptionalOf(kind) if info.is_optional else kind


def _value(value: Any, schema: dict[str, Any], path: str, files: DeliveredArtifacts) -> Any:
    declared = schema.get("type")
    if isinstance(declared, str) and isinstance(value, str) and declared in _SCALARS:
        return _SCALARS[declared].build(value, path, files)
    if declared in ("object", "array") and json_type(value) != declared and value is not None:
        from .parameters.base import decoded, problem

        value = decoded(value, "{" if declared == "object" else "[")
        if json_type(value) != declared:
            raise problem(path, "an object" if declared == "object" else "a list", value)
    return value
