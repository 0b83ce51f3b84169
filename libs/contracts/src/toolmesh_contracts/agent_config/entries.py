"""What every entry of an agent's `tools:` list has, and the two built-in kinds."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from toolmesh_contracts.config_fields import MAX_SECONDS, ConfigModel, ScopeText
from toolmesh_contracts.errors import InvalidNameError
from toolmesh_contracts.names import validate_tool_name
from toolmesh_contracts.reserved import BUILTIN_GROUPS, reserved_prefix_reason

__all__ = [
    "REMOTE_NAME_KEY",
    "Approval",
    "BuiltinEntry",
    "BuiltinGroupEntry",
    "Duration",
    "EntryBase",
    "Headers",
    "ToolName",
]

REMOTE_NAME_KEY: Final = "_str_binary"
"""Key of `tool_config` that names the tool on the worker, when the agent shows it under another name."""

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


def _duration(value: Any) -> float:
    seconds = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
    if isinstance(value, str) and (match := _DURATION.fullmatch(value)):
        hours, minutes, rest = match.groups()
        seconds = int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(rest or 0)
    if not 0 < seconds <= MAX_SECONDS:
        raise ValueError("a time such as 45m, 90s or 1h30m is needed, or a number of seconds; at most a day")
    return seconds


def _tool_name(name: str) -> str:
    try:
        validate_tool_name(name)
    except InvalidNameError as error:
        raise ValueError(f"this name is not allowed; {error.hint}") from error
    if reason := reserved_prefix_reason(name):
        raise ValueError(reason)
    return name


def _group(name: str) -> str:
    if name not in BUILTIN_GROUPS:
        expected = ", ".join(f"'{group}'" for group in sorted(BUILTIN_GROUPS))
        raise PydanticCustomError("literal_error", "no such group", {"expected": expected})
    return name


def _headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    if not all(_HEADER_NAME.fullmatch(name) for name in headers):
        raise ValueError("a header's name has characters that HTTP does not allow")
    if not all(_HEADER_VALUE.fullmatch(value) for value in headers.values()):
        raise ValueError("a header's value must not hold line breaks or control characters")
    return headers


Duration = Annotated[
    float,
    PlainValidator(_duration),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": f"^{_DURATION.pattern}$"}, {"type": "number"}]}),
]
"""A time in seconds, written as `45m`, `1h30m` or a number."""

ToolName = Annotated[str, AfterValidator(_tool_name)]
"""A tool's name as the model sees it."""

Headers = Annotated[dict[str, str], AfterValidator(_headers)]
"""HTTP headers."""


class Approval(ConfigModel):
    """Whether a person must agree before the tool runs."""

    require_approval: bool = False
    """Ask before each call; without a channel to a person the call is denied."""
    approval_message: str | None = None
    """What the person reads: a Liquid template over the arguments."""
    timeout: Duration = 2700
    """How long the question stays open."""
    show_args: bool = True
    """Show the arguments with the question."""


class EntryBase(ConfigModel):
    """Keys of every kind of entry."""

    required_scopes: tuple[ScopeText, ...] = ()
    """Scopes that a caller needs, all of them; empty: every caller of the agent."""
    tool_config: dict[str, Any] = Field(default_factory=dict)
    """What the operator tells the tool; `tool_defaults` are merged under it."""
    hil: Approval | None = None
    """Approval by a person."""


class BuiltinEntry(EntryBase):
    """A built-in tool, or a tool that a worker serves."""

    tool_type: Literal["builtin"]
    tool_name: ToolName
    """The tool's name as the model sees it."""

    @model_validator(mode="after")
    def _remote_name_is_a_name(self) -> Self:
        if REMOTE_NAME_KEY in self.tool_config:
            remote = self.tool_config[REMOTE_NAME_KEY]
            if not isinstance(remote, str):
                raise ValueError(f"tool_config.{REMOTE_NAME_KEY} should be the name of a tool on the worker")
            _tool_name(remote)
        return self

    @property
    def remote_name(self) -> str:
        """The tool's name on the worker, when it is not one that the executor has itself."""
        return str(self.tool_config.get(REMOTE_NAME_KEY, self.tool_name))

    @property
    def is_renamed(self) -> bool:
        """Tells whether `_str_binary` sends this entry to a worker's tool, whatever its own name is."""
        return REMOTE_NAME_KEY in self.tool_config


class BuiltinGroupEntry(EntryBase):
    """All tools of a built-in group."""

    tool_type: Literal["builtin-group"]
    group_name: Annotated[str, AfterValidator(_group)]
    """The group's slug, such as `artifact_management`."""
