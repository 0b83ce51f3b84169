"""Arguments that name artifacts: the schema they have, and the files that must have come along."""

from collections.abc import Mapping
from typing import Any, Final

from toolmesh_contracts.envelopes.catalog import ArtifactParameter
from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["MissingArtifactError", "check_artifacts", "with_artifact_names", "with_artifact_schemas"]


_KEPT: Final = ("description", "title")


class MissingArtifactError(ToolmeshError):
    """Raised when an argument names an artifact that did not come with the call."""

    default_code = ErrorCode.ARTIFACT_ERROR


def with_artifact_schemas(
    parameters: Mapping[str, Any], artifact_params: Mapping[str, ArtifactParameter]
) -> dict[str, Any]:
    """Return a schema in which artifact parameters are what a model can send: a file's name, or a list of names.

    Some SDKs advertise an optional artifact as the object that it is inside the tool. Lists of objects, in which one
    key names the file, stay as they are.
    """
    properties = parameters.get("properties")
    changed = dict(properties) if isinstance(properties, dict) else {}
    for name, info in artifact_params.items():
        if info.filename_key is not None:
            continue
        text: dict[str, Any] = {"type": "string"}
        before = changed.get(name)
        kept = {key: before[key] for key in _KEPT if key in before} if isinstance(before, dict) else {}
        changed[name] = ({"type": "array", "items": text} if info.is_list else text) | kept
    return {**parameters, "properties": changed} if changed else dict(parameters)


def with_artifact_names(
    arguments: dict[str, Any], artifact_params: Mapping[str, ArtifactParameter], files: Mapping[str, str]
) -> dict[str, Any]:
    """Return the arguments with the names of files that came along for an artifact parameter that has no value.

    Args:
        arguments: What the model sent.
        artifact_params: The tool's artifact parameters.
        files: File name by key (`name`, or `name[i]`) of the artifacts that came with the call.
    """
    added: dict[str, Any] = {}
    for name, info in artifact_params.items():
        if arguments.get(name) is not None or info.filename_key is not None:
            continue
        if info.is_list:
            names: list[str] = []
            while (key := f"{name}[{len(names)}]") in files:
                names.append(files[key])
            if names:
                added[name] = names
        elif name in files:
            added[name] = files[name]
    return {**arguments, **added} if added else arguments


def check_artifacts(
    tool: str, arguments: Mapping[str, Any], artifact_params: Mapping[str, ArtifactParameter], files: Mapping[str, str]
) -> None:
    """Check that every file that the arguments name is there.

    Raises:
        MissingArtifactError: one is not; the message names parameter and file.
    """
    for name, info in artifact_params.items():
        value = arguments.get(name)
        if not info.is_list and info.filename_key is None:
            named = [(name, value)] if value is not None else []
        elif isinstance(value, list):
            named = [(f"{name}[{number}]", _file_of(item, info.filename_key)) for number, item in enumerate(value)]
        else:
            named = []
        for key, filename in named:
            if filename and key not in files:
                raise MissingArtifactError(
                    f"{tool}: artifact {str(filename)[:200]!r} of argument {key!r} did not come with the call",
                    hint="name an artifact that exists",
                )


def _file_of(item: Any, filename_key: str | None) -> Any:
    if filename_key is None:
        return item
    return item.get(filename_key) if isinstance(item, dict) else None
