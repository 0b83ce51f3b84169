"""Reads a call's arguments from the command line, a file or stdin."""

import sys
from pathlib import Path
from typing import Final

from toolmesh_contracts.errors import ErrorCode, MalformedMessageError, ToolmeshError
from toolmesh_contracts.wire import check_json_object

__all__ = ["read_arguments"]

_STDIN: Final = "-"
_EXAMPLE: Final = """give a JSON object, such as --args '{"city": "Oslo"}'"""


def read_arguments(text: str | None, file: str | None) -> bytes:
    """Return the arguments' JSON as given; `{}` when there are none.

    Raises:
        ToolmeshError: both are given, the file can't be read, or the content is no JSON object.
    """
    if text is not None and file is not None:
        raise ToolmeshError(
            "--args and --args-file exclude each other", code=ErrorCode.INVALID_ARGUMENTS, hint="give one of them"
        )
    if file is not None:
        where, content = f"--args-file {file}", _read(file)
    else:
        where, content = "--args", _encode("{}" if text is None else text)
    try:
        check_json_object(content, where)
    except MalformedMessageError as error:
        raise ToolmeshError(error.message, code=ErrorCode.INVALID_ARGUMENTS, hint=_EXAMPLE) from error
    return content


def _encode(text: str) -> bytes:
    # Bytes that are no UTF-8 arrive as lone surrogates: keep them, the check then names the place.
    return text.encode(errors="surrogateescape")


def _read(file: str) -> bytes:
    if file == _STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ToolmeshError(
            f"can't read --args-file {file}: {error.strerror}",
            code=ErrorCode.INVALID_ARGUMENTS,
            hint="give a readable file, or - for stdin",
        ) from error
