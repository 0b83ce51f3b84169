"""The base of every configuration model, and the kinds of value that several of them share.

No validator puts the value into its message: it may be a secret. `model_loading` says what was found.
"""

import re
from pathlib import PurePosixPath
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from toolmesh_contracts.errors import InvalidNameError
from toolmesh_contracts.names import validate_identifier, validate_namespace, validate_pool
from toolmesh_contracts.scopes import ScopeSyntaxError, parse

__all__ = [
    "MAX_SECONDS",
    "MAX_TEXT",
    "AbsolutePath",
    "ConfigModel",
    "Count",
    "HostPattern",
    "Namespace",
    "NoBoolean",
    "PoolName",
    "Port",
    "RelativePath",
    "ScopeText",
    "Seconds",
    "Text",
    "WorkerId",
]

MAX_SECONDS: Final = 86_400
"""Longest time limit that can be configured: a day."""

MAX_TEXT: Final = 100_000
"""Longest free text, in characters."""

_HOST_PATTERN = re.compile(
    r"(?:\*\.)?(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    r"(?::(?P<port>[0-9]{1,5}))?"
)
_MAX_HOST: Final = 260
_MAX_PORT: Final = 65_535


class ConfigModel(BaseModel):
    """A part of a file that people write: unknown keys are mistakes, values don't change after loading."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
        validate_default=False,
        allow_inf_nan=False,
        str_max_length=MAX_TEXT,
    )


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a number is needed, not true or false")  # noqa: TRY004 - pydantic reports ValueError only
    return value


def _scope(text: str) -> str:
    try:
        return str(parse(text))
    except ScopeSyntaxError as error:
        raise ValueError("this is no scope: write <category>:<resource>:<verb>, as in tool:email:send") from error


def _named(validate: Any, *leading: str) -> AfterValidator:
    def check(name: str) -> str:
        try:
            validate(*leading, name)
        except InvalidNameError as error:
            raise ValueError(f"this name is not allowed; {error.hint}") from error
        return name

    return AfterValidator(check)


def _relative_path(text: str) -> str:
    path = PurePosixPath(text)
    if not text or "\0" in text or "\\" in text or "\n" in text:
        raise ValueError("a path needs at least one character, and no backslash, line break or NUL")
    if path.is_absolute():
        raise ValueError("the path must be relative to the manifest's folder, not absolute")
    if ".." in path.parts:
        raise ValueError("the path must not contain `..`")
    return str(path)


def _absolute_path(text: str) -> str:
    if not text.startswith("/") or "\0" in text or ".." in PurePosixPath(text).parts:
        raise ValueError("an absolute path without `..` is needed, such as /usr/bin/python3")
    return text


def _host_pattern(text: str) -> str:
    match = _HOST_PATTERN.fullmatch(text)
    if not match or len(text) > _MAX_HOST or (match["port"] and not 0 < int(match["port"]) <= _MAX_PORT):
        raise ValueError("a host is needed, such as api.example.com, *.example.com or api.example.com:443")
    return text.lower()


NoBoolean: Final = BeforeValidator(_no_boolean)
"""Keeps `true` and `false` from being read as 1 and 0."""

Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS), NoBoolean]
"""A time limit in seconds, over 0 and at most a day."""

Count = Annotated[int, Field(ge=1, le=2**31 - 1), NoBoolean]
"""A whole number of at least 1."""

Port = Annotated[int, Field(ge=0, le=65_535), NoBoolean]
"""A TCP port; 0 lets the system choose one."""

Text = Annotated[str, Field(min_length=1)]
"""A text that is not empty."""

ScopeText = Annotated[str, AfterValidator(_scope)]
"""A required scope, `<category>:<resource>:<verb>`."""

Namespace = Annotated[str, _named(validate_namespace)]
"""A namespace."""

PoolName = Annotated[str, _named(validate_pool)]
"""A pool of workers."""

WorkerId = Annotated[str, _named(validate_identifier, "worker id")]
"""A worker's id."""

RelativePath = Annotated[str, AfterValidator(_relative_path)]
"""A path below the file's folder, without `..`."""

AbsolutePath = Annotated[str, AfterValidator(_absolute_path)]
"""An absolute path, without `..`."""

HostPattern = Annotated[str, AfterValidator(_host_pattern)]
"""A host with an optional leading `*.` and an optional port."""
