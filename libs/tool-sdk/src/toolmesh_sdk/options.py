"""What a tool declares beside its signature: time-out, volumes, sign-in, embed control, dynamic schema.

Each decorator works on a function, a provider's function or a `DynamicTool` class.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    Declared = TypeVar("Declared")

_ATTRIBUTE = "_toolmesh_options"


def options_of(target: object) -> dict[str, Any]:
    """Return what decorators declared on a function or class."""
    found: dict[str, Any] = getattr(target, _ATTRIBUTE, {})
    return found


def _declare(target: Declared, key: str, value: object) -> Declared:
    # A new dict each time: a subclass must not write into its parent's.
    setattr(target, _ATTRIBUTE, {**options_of(target), key: value})
    return target


def declaring(key: str, value: object) -> Callable[[Declared], Declared]:
    """Return a decorator that declares one option."""

    def decorator(target: Declared) -> Declared:
        return _declare(target, key, value)

    return decorator


class VolumeParam:
    """A volume that a tool needs.

    Args:
        name: What the tool calls it.
        mount_path: Where it appears inside the sandbox.
        mode: `readonly` or `readwrite`.
        description: For the person who picks the volume.
    """

    __slots__ = ("description", "mode", "mount_path", "name")

    def __init__(self, name: str, mount_path: str, mode: str = "readonly", description: str = "") -> None:
        self.name = name
        self.mount_path = mount_path
        self.mode = mode
        self.description = description

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        wire = {"name": self.name, "mount_path": self.mount_path, "mode": self.mode}
        return {**wire, "description": self.description} if self.description else wire


class VolumeMount:
    """A volume as this call has it."""

    __slots__ = ("mount_path", "read_only", "volume_id")

    def __init__(self, volume_id: str, mount_path: str, read_only: bool = False) -> None:
        self.volume_id = volume_id
        self.mount_path = mount_path
        self.read_only = read_only

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> VolumeMount:
        """Build from the arguments file's form."""
        return cls(data.get("volume_id", ""), data.get("mount_path", ""), bool(data.get("read_only", False)))

    def __repr__(self) -> str:
        return f"VolumeMount({self.volume_id!r}, {self.mount_path!r}, read_only={self.read_only})"


def tool_timeout(seconds: int) -> Callable[[Declared], Declared]:
    """Declare the wall-clock budget of one call in seconds; it overrides the manifest's.

    Raises:
        ValueError: Not a whole number above zero.
    """
    if type(seconds) is not int or seconds <= 0:
        raise ValueError(f"tool_timeout takes a whole number of seconds above zero, got {seconds!r}")
    return declaring("timeout_seconds", seconds)


def volume_declarations(params: Sequence[VolumeParam | dict[str, Any]]) -> list[dict[str, Any]]:
    """Return volume declarations in their wire form.

    Raises:
        TypeError: An entry is neither a VolumeParam nor a dict.
    """
    wire = []
    for entry in params:
        if not isinstance(entry, VolumeParam | dict):
            raise TypeError(f"a volume is declared by VolumeParam or dict, got {type(entry).__name__}")
        wire.append(entry.to_dict() if isinstance(entry, VolumeParam) else entry)
    return wire


def with_volume_params(params: Sequence[VolumeParam | dict[str, Any]]) -> Callable[[Declared], Declared]:
    """Declare the volumes that a tool needs."""
    return declaring("volume_params", volume_declarations(params))


def with_dynamic_schema(
    override: Callable[[dict[str, Any]], dict[str, Any] | None],
) -> Callable[[Declared], Declared]:
    """Declare a function that adapts the schema to a tool_config.

    It gets the tool_config and returns None or any of name, description, instructions, parameters, config_schema.

    Raises:
        TypeError: `override` cannot be called.
    """
    if not callable(override):
        raise TypeError(f"with_dynamic_schema takes a function of tool_config, got {type(override).__name__}")
    return declaring("dynamic_schema", override)


def with_auth(requirement: dict[str, Any]) -> Callable[[Declared], Declared]:
    """Declare the sign-in that a call needs: `{"type": "oauth2"|"bearer"|"basic", "scheme": {...}}`."""
    return declaring("auth", requirement)


def with_instructions(text: str) -> Callable[[Declared], Declared]:
    """Declare guidance for the model in place of the docstring's later paragraphs."""
    return declaring("instructions", text)


def with_raw_string_args(*names: str, resolution_type: str = "early") -> Callable[[Declared], Declared]:
    """Declare parameters that must arrive as written, without embed resolution (SQL, patterns, templates).

    Raises:
        ValueError: `resolution_type` is neither `early` nor `all`.
    """
    if resolution_type not in ("early", "all"):
        raise ValueError(f"resolution_type is 'early' or 'all', got {resolution_type!r}")

    def decorator(target: Declared) -> Declared:
        return _declare(_declare(target, "raw_string_args", list(names)), "resolution_type", resolution_type)

    return decorator
