"""Reads the operator's settings of a tool from `--config`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.document import Document
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.json_document import parse_json
from toolmesh_contracts.model_loading import read_document
from toolmesh_contracts.variables import expand

__all__ = ["Settings", "read_settings"]

_EXAMPLE: Final = """give a JSON object, such as --config '{"units": "celsius"}', or a JSON or YAML file"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a tool is configured with.

    Attributes:
        values: The settings, variables filled in.
        secrets: What came from variables, which nothing may show.
    """

    values: dict[str, Any]
    secrets: tuple[str, ...] = ()


def read_settings(given: str | None, environment: Mapping[str, str]) -> Settings | None:
    """Read a text that begins with `{`, else the file of that name; None if none are given.

    Variables are filled in as in an agent's file.

    Raises:
        ToolmeshError: the file can't be read, the content is no mapping, or variables are not set: all are named.
    """
    if given is None:
        return None
    document = _document(given)
    expansion = expand(document, environment)
    if expansion.problems:
        raise ConfigError(expansion.problems)
    values = expansion.typed_value
    if not isinstance(values, dict):
        raise ToolmeshError(f"{document.source} is no mapping", code=ErrorCode.INVALID_CONFIGURATION, hint=_EXAMPLE)
    return Settings(values, tuple(filter(None, (_text_at(expansion.value, path) for path in expansion.referenced))))


def _document(given: str) -> Document:
    return parse_json(given, "--config") if given.lstrip().startswith("{") else read_document(Path(given))


def _text_at(value: Any, path: tuple[str | int, ...]) -> str:
    for part in path:
        value = value[part]
    return str(value)
