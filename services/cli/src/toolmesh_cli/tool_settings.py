"""Reads the operator's settings of a tool from `--config`."""

import json
from pathlib import Path
from typing import Any, Final

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.model_loading import read_document

__all__ = ["read_settings"]

_EXAMPLE: Final = """give a JSON object, such as --config '{"units": "celsius"}', or a JSON or YAML file"""


def read_settings(given: str | None) -> dict[str, Any] | None:
    """Return the settings of a text that begins with `{`, else of the file of that name; None if none are given.

    Raises:
        ToolmeshError: the file can't be read, or the content is no mapping.
    """
    if given is None:
        return None
    if not given.lstrip().startswith("{"):
        # JSON is YAML.
        value = read_document(Path(given)).value()
        where = given
    else:
        where = "--config"
        try:
            value = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise ToolmeshError(
                f"--config is no JSON: {error}", code=ErrorCode.INVALID_CONFIGURATION, hint=_EXAMPLE
            ) from error
    if not isinstance(value, dict):
        raise ToolmeshError(f"{where} is no mapping", code=ErrorCode.INVALID_CONFIGURATION, hint=_EXAMPLE)
    return value
