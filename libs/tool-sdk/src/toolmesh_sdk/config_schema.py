"""What an operator may set for a tool: the fields of its `tool_config`."""

from __future__ import annotations

from .options import declaring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .options import Declared

RESERVED_KEY = "auth"


class ConfigSchemaField:
    """One value that an operator sets.

    Args:
        key: Its key in tool_config; `auth` belongs to the host.
        type: `string`, `integer`, `number` or `boolean`.
        description: For the operator.
        required: Whether a tool without it cannot run.
        secret: Whether it is sealed on the way and redacted everywhere.
        default: Used when nobody set it.
        options: Allowed values.
    """

    __slots__ = ("default", "description", "key", "options", "required", "secret", "type")

    def __init__(
        self,
        key: str,
        type: str = "string",  # noqa: A002 - the published name
        description: str = "",
        required: bool = False,
        secret: bool = False,
        default: Any = None,
        options: Sequence[Any] = (),
    ) -> None:
        self.key = key
        self.type = type
        self.description = description
        self.required = required
        self.secret = secret
        self.default = default
        self.options = list(options)

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, without what was left at its default."""
        wire: dict[str, Any] = {"key": self.key, "type": self.type}
        for name in ("description", "required", "secret", "options"):
            if value := getattr(self, name):
                wire[name] = value
        if self.default is not None:
            wire["default"] = self.default
        return wire


def config_declarations(fields: Sequence[ConfigSchemaField | dict[str, Any]]) -> list[dict[str, Any]]:
    """Return config fields in their wire form.

    Raises:
        TypeError: An entry is neither a ConfigSchemaField nor a dict.
        ValueError: A field takes the host's own key `auth`.
    """
    wire = []
    for entry in fields:
        if not isinstance(entry, ConfigSchemaField | dict):
            raise TypeError(f"a config field is a ConfigSchemaField or dict, got {type(entry).__name__}")
        declared = entry.to_dict() if isinstance(entry, ConfigSchemaField) else entry
        if declared.get("key") == RESERVED_KEY:
            raise ValueError(f"the config key {RESERVED_KEY!r} is the host's own; name it auth_token or api_key")
        wire.append(declared)
    return wire


def with_config_schema(fields: Sequence[ConfigSchemaField | dict[str, Any]]) -> Callable[[Declared], Declared]:
    """Declare what an operator may set for this tool."""
    return declaring("config_schema", config_declarations(fields))


def with_defaults(config: dict[str, Any], fields: Sequence[dict[str, Any]] | None) -> dict[str, Any]:
    """Return a tool_config in which declared defaults fill what nobody set."""
    defaults = {entry["key"]: entry["default"] for entry in fields or () if "key" in entry and "default" in entry}
    return {**defaults, **config}
