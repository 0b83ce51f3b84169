"""Checks an operator's settings of a tool (`tool_config`) against what the tool declares."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from toolmesh_contracts.config_problems import nearest
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.tool_description import ConfigField

__all__ = ["check_settings", "declared_settings", "misspelt_settings"]

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str, int, float),  # YAML reads a version or a key of digits as a number; tools take it as text
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
}


def declared_settings(entry: CatalogEntry) -> tuple[ConfigField, ...]:
    """Return the settings that a tool declares in the catalog; what can't be read there counts as not declared."""
    if isinstance(entry.config_schema, msgspec.UnsetType):
        return ()
    try:
        fields = msgspec.json.decode(bytes(entry.config_schema), type=list[msgspec.Raw])
    except (ValueError, RecursionError):
        return ()
    return tuple(field for field in map(_field, fields) if field is not None)


def _field(raw: msgspec.Raw) -> ConfigField | None:
    try:
        return msgspec.json.decode(raw, type=ConfigField)
    except (ValueError, RecursionError):
        return None


def misspelt_settings(fields: Sequence[ConfigField], settings: Mapping[str, Any]) -> Mapping[str, str]:
    """Return settings that the tool does not declare, each with a declared one that looks alike and is not set."""
    unset = [field.key for field in fields if field.key not in settings]
    declared = {field.key for field in fields}
    near = {key: nearest(key, unset) for key in settings if key not in declared}
    return {key: spelling for key, spelling in near.items() if spelling}


def check_settings(tool: str, fields: Sequence[ConfigField], settings: Mapping[str, Any]) -> None:
    """Refuse settings that a tool can't work with, and name all that is wrong with them; values are never shown.

    Keys that the tool does not declare are allowed: defaults for all tools of an agent reach each of them.

    Raises:
        ToolmeshError: a required setting is missing, or one has another type than declared or is no option.
    """
    misspelt = {spelling: key for key, spelling in misspelt_settings(fields, settings).items()}
    problems, hint = [], ""
    for field in fields:
        value = settings.get(field.key)
        if value is None:
            if field.required and field.default is None:
                problems.append(f"{field.key!r} is required")
                if key := misspelt.get(field.key):
                    hint = hint or f"did you mean {field.key!r} by {key!r}?"
        elif problem := _problem(field, value):
            problems.append(f"{field.key!r} {problem}")
    if problems:
        raise ToolmeshError(
            f"the settings (tool_config) of tool {tool!r} are wrong: {'; '.join(problems)}",
            code=ErrorCode.INVALID_CONFIGURATION,
            hint=hint or "correct the tool_config of its entry in the agent file, or the --config of a tool run",
        )


def _problem(field: ConfigField, value: Any) -> str:
    types = _TYPES.get(field.type)
    if types is not None and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
        return f"is not of type {field.type}"
    if field.options and value not in field.options:
        return f"is none of {', '.join(map(str, field.options))}"
    return ""
