"""`toolmesh tool init`: a folder with a tool that works at once."""

import keyword
import re
import shlex
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from toolmesh_cli import exit_codes
from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.names import validate_tool_name
from toolmesh_contracts.reserved import declared_reserved_reason, reserved_reason
from toolmesh_contracts.vessel import DECLARED_NAME

__all__ = ["run_init", "write_scaffold"]

_STYLES: Final = ("function", "provider", "declared")
_LANGUAGES: Final = ("python", "go")
_FILES: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("python", "function"): {"manifest.yaml": "function.yaml", "@name@.py": "function.py.txt"},
    ("python", "provider"): {"manifest.yaml": "provider.yaml", "@name@.py": "provider.py.txt"},
    ("python", "declared"): {
        "vessel.toml": "vessel.toml",
        "tools/@name@.toml": "declared.toml",
        "tools/@name@.py": "declared.py.txt",
    },
    ("go", "function"): {"manifest.yaml": "go.yaml", "main.go": "main.go.txt", "go.mod": "go.mod.txt"},
}
"""The files of each scaffold: name in the new folder, and template."""


def run_init(place: Path, style: str, language: str) -> int:
    """Write a scaffold and say what to do next; return the exit code.

    Raises:
        ToolmeshError: the name, the style or the folder can't be used.
    """
    written = write_scaffold(place, style, language)
    stderr, stdout = Terminal.stderr(), Terminal.stdout()
    for path in written:
        stderr.step("wrote", str(path))
    folder = shlex.quote(str(place))
    stderr.line("next:")
    if language == "go":
        stdout.line(f"(cd {folder} && go build -o {place.name} .)")
    tool, arguments = place.name, '{"name": "Ada"}'
    option = ""
    if style == "provider":
        tool, arguments = f"{_identifier(place.name)}_count", '{"text": "to be or not to be"}'
        option = f" --tool {tool}"
    stdout.line(f"toolmesh tool run {folder}{option} --args '{arguments}'")
    stdout.line(f"toolmesh up --tools {folder}")
    stdout.line(f"toolmesh call {tool} --args '{arguments}'")
    return exit_codes.OK


def write_scaffold(place: Path, style: str, language: str) -> list[Path]:
    """Write a tool's files into the new or empty folder `place`, whose name is the tool's; return their paths.

    Raises:
        ToolmeshError: the name is not allowed or reserved, the folder has something in it, or no such scaffold exists.
    """
    templates = _templates(style, language)
    name = _checked_name(place.name, style)
    if language == "python" and _identifier(name) in sys.stdlib_module_names:
        message = f"a program {name}.py would hide the module {name!r} of Python's own library from itself"
        raise ToolmeshError(message, code=ErrorCode.INVALID_NAME, hint="choose another name")
    if place.is_dir() and any(place.iterdir()):
        raise _refused(f"{place} is there and not empty", "choose another name, or empty the folder")
    if place.exists() and not place.is_dir():
        raise _refused(f"{place} is there and no folder", "choose another name")
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for filename, template in templates.items():
        text = (files("toolmesh_cli") / "scaffolds" / template).read_text(encoding="utf-8")
        path = place / _filled(filename, name)
        path.parent.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(_filled(text, name))
        written.append(path)
    return written


def _checked_name(name: str, style: str) -> str:
    if style != "declared":
        reason = reserved_reason(validate_tool_name(name))
    elif re.fullmatch(DECLARED_NAME, name):
        reason = declared_reserved_reason(name)
    else:
        reason = f"declared tool name {name!r} is not allowed: lowercase letters, digits and `_`, a letter first"
    if reason:
        raise ToolmeshError(reason, code=ErrorCode.INVALID_NAME, hint="choose another name")
    return name


def _templates(style: str, language: str) -> Mapping[str, str]:
    for option, value, allowed in (("--style", style, _STYLES), ("--lang", language, _LANGUAGES)):
        if value not in allowed:
            raise _refused(f"{option} {value!r} is not known", f"use {' or '.join(allowed)}")
    if (language, style) not in _FILES:
        cure = "leave --style out: main.go lists its tools in one place"
        if style == "declared":
            cure = "leave --lang out, and name your program in `command`"
        raise _refused(f"there is no {style} in {language}", cure)
    return _FILES[language, style]


def _filled(text: str, name: str) -> str:
    return text.replace("@name@", name).replace("@identifier@", _identifier(name))


def _identifier(name: str) -> str:
    """Return the name as Python can spell it."""
    plain = name.replace("-", "_")
    return f"{plain}_" if keyword.iskeyword(plain) or keyword.issoftkeyword(plain) else plain


def _refused(message: str, hint: str) -> ToolmeshError:
    return ToolmeshError(message, code=ErrorCode.INVALID_CONFIGURATION, hint=hint)
