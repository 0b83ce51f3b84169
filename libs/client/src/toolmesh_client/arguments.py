"""A call's arguments: encoded strictly, checked before they travel."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from toolmesh_client.errors import InvalidArgumentsError
from toolmesh_contracts.argument_names import unknown_arguments
from toolmesh_contracts.envelopes.catalog import DECLARED_PROFILE, CatalogEntry
from toolmesh_contracts.errors import MalformedMessageError
from toolmesh_contracts.wire import check_json_object

__all__ = ["check_required_arguments", "encode_arguments", "encode_json"]

_SHOWN_NAMES: Final = 20
_NAMES_ONLY: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def encode_json(value: object, what: str) -> bytes:
    """Return `value` as JSON.

    Raises:
        InvalidArgumentsError: NaN or Infinity, a value JSON doesn't know, a lone surrogate, a cycle or too deep.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidArgumentsError(
            f"{what} can't be written as JSON: {reason}",
            hint="use only objects with text keys, lists, text, finite numbers, true, false and null",
        ) from error


def encode_arguments(arguments: Mapping[str, object] | bytes) -> bytes:
    """Return the arguments as JSON; bytes are checked and stay as they are.

    Raises:
        InvalidArgumentsError: no JSON object; NaN and Infinity are none.
    """
    if not isinstance(arguments, bytes):
        arguments = encode_json(arguments, "an argument")
    try:
        check_json_object(arguments, "the arguments")
    except MalformedMessageError as error:
        raise InvalidArgumentsError(
            error.message, hint='call again with valid JSON: one object, such as {"city": "Oslo"}'
        ) from error
    return arguments


def check_required_arguments(arguments: bytes, artifacts: Collection[str], entry: CatalogEntry) -> None:
    """Name the arguments that the tool's schema requires and the call lacks.

    Args:
        arguments: A JSON object.
        artifacts: Parameters that are given as files, as `name` or `name[i]`.
        entry: What the catalog says of the tool.

    A declared tool checks its arguments itself.

    Raises:
        InvalidArgumentsError: at least one is missing.
    """
    if entry.profile == DECLARED_PROFILE:
        return
    required, known = _names(entry.parameters)
    if not required:
        return
    given = dict.fromkeys((*_NAMES_ONLY.decode(arguments), *(name.partition("[")[0] for name in artifacts)))
    missing = [name for name in required if name not in given]
    if missing:
        shown = ", ".join(missing[:_SHOWN_NAMES])
        unknown = unknown_arguments(given, (*known, *required), missing)
        raise InvalidArgumentsError(
            f"tool {entry.tool!r} requires {shown}, which the call lacks" + (f"; {unknown}" if unknown else ""),
            hint=f"it takes: {', '.join(known[:_SHOWN_NAMES] or required[:_SHOWN_NAMES])}",
        )


def _names(schema: msgspec.Raw) -> tuple[list[str], list[str]]:
    """Return the schema's required names and all names; none if it can't be read, then the tool itself decides."""
    try:
        document: Any = msgspec.json.decode(schema)
    except (msgspec.DecodeError, RecursionError):
        return [], []
    if not isinstance(document, dict):
        return [], []
    required, properties = document.get("required"), document.get("properties")
    return (
        [name for name in required if isinstance(name, str)] if isinstance(required, list) else [],
        list(properties) if isinstance(properties, dict) else [],
    )
