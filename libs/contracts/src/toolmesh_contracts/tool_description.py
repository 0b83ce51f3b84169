"""What a tool says about itself when it is started with `--schema`.

The text comes from a tool's own process, so it is read under hard bounds; one bad description leaves the others usable.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, NoReturn

import msgspec

from toolmesh_contracts.envelopes.catalog import ArtifactParameter
from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = [
    "MAX_DESCRIBED_TOOLS",
    "MAX_DESCRIPTION_BYTES",
    "AuthRequirement",
    "AuthScheme",
    "ConfigField",
    "ToolDescription",
    "ToolDescriptionError",
    "ToolDescriptions",
    "VolumeParameter",
    "parse_tool_descriptions",
]

MAX_DESCRIPTION_BYTES: Final = 1024 * 1024
"""Most bytes of a `--schema` output."""

MAX_DESCRIBED_TOOLS: Final = 256
"""Most tools of one executable."""

_MAX_DEPTH: Final = 64
_MAX_STARTS: Final = 50
_SDK_CHARACTERS: Final = 100
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class ToolDescriptionError(ToolmeshError):
    """Raised when a tool's `--schema` output can't be used at all."""

    default_code: ClassVar[ErrorCode] = ErrorCode.INIT_ERROR


class ConfigField(msgspec.Struct, frozen=True, kw_only=True):
    """One key of `tool_config` that the tool understands."""

    key: str
    type: str = "string"
    description: str = ""
    required: bool = False
    secret: bool = False
    default: Any = None
    options: tuple[Any, ...] = ()


class VolumeParameter(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that the tool wants to have mounted."""

    name: str
    mount_path: str
    mode: Literal["readonly", "readwrite"] = "readonly"
    description: str = ""


class AuthScheme(msgspec.Struct, frozen=True, kw_only=True):
    """Where the tool's users sign in."""

    authorization_url: str = ""
    token_url: str = ""
    scopes: tuple[str, ...] = ()
    token_endpoint_auth_method: str = ""


class AuthRequirement(msgspec.Struct, frozen=True, kw_only=True):
    """Sign-in that must have happened before the tool runs."""

    type: str
    scheme: AuthScheme = AuthScheme()


class ToolDescription(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as it describes itself."""

    description: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    artifact_params: dict[str, ArtifactParameter] = {}
    instructions: str = ""
    auth: AuthRequirement | None = None
    config_schema: tuple[ConfigField, ...] = ()
    timeout_seconds: float | None = None
    volume_params: tuple[VolumeParameter, ...] = ()
    raw_string_args: tuple[str, ...] = ()
    """Arguments in which embeds are not resolved."""
    resolution_type: Literal["early", "all"] = "early"
    """Which embeds are resolved in the other arguments."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of a success's data, if the tool tells."""
    sdk: str = ""
    """Name and version of the SDK that wrote the description, if it tells."""

    @property
    def secret_keys(self) -> frozenset[str]:
        """Keys of `tool_config` that the tool declares secret."""
        return frozenset(field.key for field in self.config_schema if field.secret)


@dataclass(frozen=True, slots=True)
class ToolDescriptions:
    """An executable's tools.

    Attributes:
        tools: The sound descriptions by the tool's own name.
        problems: Why others were left out, by name.
    """

    tools: Mapping[str, ToolDescription]
    problems: Mapping[str, str]


def parse_tool_descriptions(output: bytes) -> ToolDescriptions:
    """Read a `--schema` output; text before and after the JSON object is ignored, as are unknown keys.

    Raises:
        ToolDescriptionError: over MAX_DESCRIPTION_BYTES, no JSON object with `tools`, or no tools in it.
    """
    if len(output) > MAX_DESCRIPTION_BYTES:
        raise ToolDescriptionError(f"the description is larger than {MAX_DESCRIPTION_BYTES} bytes")
    document = _find_document(output.decode("utf-8", "replace"))
    entries = document["tools"]
    if not entries:
        raise ToolDescriptionError("the description holds no tools", hint="list at least one under `tools`")
    if len(entries) > MAX_DESCRIBED_TOOLS:
        raise ToolDescriptionError(f"the description holds more than {MAX_DESCRIBED_TOOLS} tools")
    sdk = _sdk(document.get("sdk"))
    tools: dict[str, ToolDescription] = {}
    problems: dict[str, str] = {}
    for name, entry in entries.items():
        try:
            tools[name] = msgspec.structs.replace(_description(entry), sdk=sdk)
        except (ValueError, msgspec.ValidationError) as error:
            problems[name] = f"tool {name[:128]!r}: {error}"
    return ToolDescriptions(tools, problems)


def _sdk(mark: Any) -> str:
    parts = [mark.get("name"), mark.get("version")] if isinstance(mark, dict) else []
    return " ".join(_SURROGATE.sub("\ufffd", part) for part in parts if isinstance(part, str))[:_SDK_CHARACTERS]


def _find_document(text: str) -> dict[str, Any]:
    """Return the first JSON object whose `tools` is an object."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    reason = "no JSON object"
    end = 0
    for _ in range(_MAX_STARTS):
        at = text.find("{", end)
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except RecursionError:
            reason = f"nested deeper than {_MAX_DEPTH} levels"
            break
        except ValueError as error:
            reason, end = f"no valid JSON: {error}", at + 1
            continue
        if isinstance(value.get("tools"), dict):
            return dict(value)
        reason = "the object has no `tools`"
    raise ToolDescriptionError(
        f"the output of --schema is no description: {reason}", hint='print {"tools": {NAME: {...}}} on stdout'
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _description(entry: Any) -> ToolDescription:
    if not isinstance(entry, dict):
        raise ValueError("should be an object")  # noqa: TRY004 - one kind of error for the caller
    known = {key: value for key, value in _cleaned(entry, 0).items() if value is not None}
    described = msgspec.convert(known, ToolDescription)
    if described.timeout_seconds is not None and not 0 < described.timeout_seconds <= 86_400:
        raise ValueError("timeout_seconds should be over 0 and at most 86400")
    if any(not field.key or field.key == "auth" for field in described.config_schema):
        raise ValueError("config_schema has an empty key, or the reserved key `auth`")
    return described


def _cleaned(value: Any, depth: int) -> Any:
    """Return a copy without lone surrogates (no UTF-8 form), and refuse what is nested too deep."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is too large")
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_cleaned(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", key): _cleaned(item, depth + 1) for key, item in value.items()}
    return value
