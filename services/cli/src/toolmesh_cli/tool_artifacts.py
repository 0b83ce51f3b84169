"""Gives a tool's file parameters the files of `--artifact`, of a single run as of a call."""

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolmesh_contracts.envelopes.catalog import ArtifactParameter
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.file_names import file_name

__all__ = ["bind_artifacts"]


def bind_artifacts(
    given: Iterable[str], parameters: Mapping[str, ArtifactParameter], arguments: bytes
) -> tuple[bytes, dict[str, Path]]:
    """Return the arguments with the files' names filled in where they are missing, and the files by parameter.

    Args:
        given: `PARAM=FILE`, several of one parameter that takes a list.
        parameters: The tool's parameters that take files.
        arguments: A JSON object.

    Raises:
        ToolmeshError: the form is wrong, the tool has no such parameter, one that takes one file gets two, or a file
            can't be read.
    """
    files: dict[str, list[Path]] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not name or not path:
            lacks = "no `=`" if not equals else "no file after `=`" if name else "no parameter before `=`"
            raise _refused(f"--artifact {text!r} has {lacks}", "write --artifact PARAM=FILE")
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise _refused(f"--artifact {name}: the tool takes no file there", f"parameters that take files: {known}")
        files.setdefault(name, []).append(_readable(name, Path(path)))
    if not files:
        return arguments, {}
    # What was given travels as it is: read and written again, a number could become another one, or none.
    values = msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    bound: dict[str, Path] = {}
    for name, paths in files.items():
        parameter = parameters[name]
        if not parameter.is_list and len(paths) > 1:
            raise _refused(f"--artifact {name} is given {len(paths)} times, but takes one file", "give one")
        bound |= {f"{name}[{n}]": path for n, path in enumerate(paths)} if parameter.is_list else {name: paths[0]}
        values.setdefault(name, msgspec.Raw(msgspec.json.encode(_names(parameter, [*map(file_name, paths)]))))
    return msgspec.json.encode(values), bound


def _names(parameter: ArtifactParameter, names: list[str]) -> Any:
    if parameter.filename_key is not None:
        return [{parameter.filename_key: name} for name in names]
    return names if parameter.is_list else names[0]


def _readable(name: str, path: Path) -> Path:
    """Say it now: an unreadable file is a mistake on the command line, not a failure of the tool."""
    try:
        # A FIFO without a writer would keep an open waiting for good.
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _refused(f"--artifact {name}={path}: that is no plain file", "give a file")
    except OSError as error:
        hint = "give a readable file" if str(path) != "-" else "write what comes from stdin into a file, and give that"
        raise _refused(f"can't read --artifact {name}={path}: {error.strerror}", hint) from error
    return path


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _refused(message: str, hint: str) -> ToolmeshError:
    return ToolmeshError(message, code=ErrorCode.INVALID_ARGUMENTS, hint=hint)
