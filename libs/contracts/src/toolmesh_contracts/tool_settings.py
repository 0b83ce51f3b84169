"""Checks an operator's settings of a tool (`tool_config`) against what the tool declares."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmesh_contracts.config_problems import nearest
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.tool_description import ConfigField

__all__ = ["check_settings"]

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
}


def check_settings(tool: str, fields: Sequence[ConfigField], settings: Mapping[str, Any]) -> None:
    """Refuse settings that a tool can't work with, and name all that is wrong with them; values are never shown.

    Keys that the tool does not declare are allowed: defaults for all tools of an agent reach each of them.

    Raises:
        ToolmeshError: a required setting is missing, or one has another type than declared or is no option.
    """
    declared = [field.key for field in fields]
    problems, hint = [], ""
    for field in fields:
        value = settings.get(field.key)
        if value is None:
            if field.required and field.default is None:
                problems.append(f"{field.key!r} is required")
                strangers = [key for key in settings if key not in declared]
                if near := nearest(field.key, strangers):
                    hint = hint or f"did you mean {field.key!r} by {near!r}?"
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
