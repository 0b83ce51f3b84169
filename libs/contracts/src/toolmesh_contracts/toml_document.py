"""Reads TOML into a tree with positions.

`tomllib` gives no positions, so lines come from a scan of the headers and keys; what lies inside an inline table or a
multi-line value has the line of the key that holds it.
"""

import datetime as dt
import math
import re
import tomllib
from pathlib import Path
from typing import Any, Final

from toolmesh_contracts.config_problems import ConfigError, ConfigPath, Problem
from toolmesh_contracts.document import (
    MAX_DEPTH,
    Document,
    ListNode,
    MappingEntry,
    MappingNode,
    Node,
    ScalarNode,
    decode_text,
    depth_of,
    read_text,
    weight_of,
)

__all__ = ["MAX_TOML_BYTES", "parse_toml", "read_toml"]

MAX_TOML_BYTES: Final = 256 * 1024
"""Largest TOML file."""

_MAX_DOTS: Final = 500
_KEY_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*""")
_HEADER = re.compile(r"\s*(\[\[?)(.*?)\]\]?\s*(?:#.*)?$")
_ERROR_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*(?:""")?'
    r"|'''(?:[^']|'(?!''))*(?:''')?"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'|#.*|[\[\]{}]"
)
_TEXT_MARKS: Final = ('"""', "'''")
_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**63 - 1


def read_toml(path: Path) -> Document:
    """Read a TOML file.

    Raises:
        ConfigError: unreadable, too large, no valid TOML; dates, NaN and infinities, which have no JSON form.
    """
    return parse_toml(read_text(path, MAX_TOML_BYTES), str(path))


def parse_toml(text: str | bytes, source: str) -> Document:
    """Read TOML from a text; `source` names it in problems. Raises ConfigError as `read_toml` does."""
    if isinstance(text, bytes):
        text = decode_text(text, source, MAX_TOML_BYTES)
    _refuse_long_dotted_lines(text, source)
    try:
        value = tomllib.loads(text)
    except RecursionError as error:
        raise ConfigError([Problem(file=source, message=f"nested deeper than {MAX_DEPTH} levels")]) from error
    except ValueError as error:
        place = _ERROR_PLACE.search(str(error))
        line = None if place is None else int(place[1] or text.count("\n") + 1)
        message = f"this is not valid TOML: {_ERROR_PLACE.sub('', str(error))}"
        raise ConfigError([Problem(file=source, line=line, message=message)]) from error
    tree = _TreeBuilder(source, _key_lines(text))
    root = tree.node(value, (), 1)
    if tree.problems:
        raise ConfigError(tree.problems)
    return Document(source, root)


def _refuse_long_dotted_lines(text: str, source: str) -> None:
    # tomllib takes quadratic time over the parts of a dotted key: a minute for 100 kB.
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count(".") > _MAX_DOTS:
            raise ConfigError([Problem(file=source, line=number, message=f"a line with more than {_MAX_DOTS} dots")])


class _TreeBuilder:
    """Gives each of tomllib's values the line that the scan found for it."""

    def __init__(self, source: str, lines: dict[ConfigPath, int]) -> None:
        self.problems: list[Problem] = []
        self._source = source
        self._lines = lines

    def node(self, value: Any, path: ConfigPath, line: int) -> Node:
        """Return the tree of `value`; `line` is its parent's."""
        line = self._lines.get(path, line)
        if len(path) > MAX_DEPTH:
            message = f"nested deeper than {MAX_DEPTH} levels"
            raise ConfigError([Problem(file=self._source, line=line, path=path[:8], message=message)])
        if isinstance(value, dict):
            entries = {
                key: MappingEntry(self._lines.get((*path, key), line), 1, self.node(item, (*path, key), line))
                for key, item in value.items()
            }
            children = [entry.node for entry in entries.values()]
            return MappingNode(entries, line, 1, _weight(children), _depth(children))
        if isinstance(value, list):
            items = tuple(self.node(item, (*path, index), line) for index, item in enumerate(value))
            return ListNode(items, line, 1, _weight(items), _depth(items))
        return ScalarNode(self._scalar(value, path, line), line, 1)

    def _scalar(self, value: Any, path: ConfigPath, line: int) -> str | int | float | bool | None:
        message = ""
        if isinstance(value, dt.date | dt.time):
            message = "dates and times are not allowed; write a text"
        elif isinstance(value, float) and not math.isfinite(value):
            message = "nan and inf are not allowed; give a number"
        elif isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
            message = "the number is over 64 bits"
        if message:
            self.problems.append(Problem(file=self._source, line=line, path=path, message=message))
            return None
        return value  # type: ignore[no-any-return]  # tomllib's other scalars are str, int, float and bool


def _weight(children: list[Node] | tuple[Node, ...]) -> int:
    return 1 + sum(weight_of(child) for child in children)


def _depth(children: list[Node] | tuple[Node, ...]) -> int:
    return 1 + max((depth_of(child) for child in children), default=0)


def _key_lines(text: str) -> dict[ConfigPath, int]:
    lines: dict[ConfigPath, int] = {}
    prefix: ConfigPath = ()
    arrays: dict[ConfigPath, int] = {}
    open_mark, open_brackets = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        if open_mark or open_brackets:
            open_mark, open_brackets = _still_open(line, open_mark, open_brackets)
            continue
        path: ConfigPath = ()
        if header := _HEADER.match(line):
            path = prefix = _header_path(_dotted(header[2])[0], header[1] == "[[", arrays)
        else:
            keys, rest = _dotted(line)
            if keys and rest.startswith("="):
                path = (*prefix, *keys)
                open_mark, open_brackets = _still_open(rest, "", 0)
        for length in range(1, min(len(path), MAX_DEPTH) + 1):
            lines.setdefault(path[:length], number)
    return lines


def _header_path(keys: list[str], is_array: bool, arrays: dict[ConfigPath, int]) -> ConfigPath:
    path: ConfigPath = ()
    for position, key in enumerate(keys):
        path = (*path, key)
        if is_array and position == len(keys) - 1:
            arrays[path] = arrays.get(path, -1) + 1
        if path in arrays:
            path = (*path, arrays[path])
    return path


def _dotted(line: str) -> tuple[list[str], str]:
    keys: list[str] = []
    while match := _KEY_PART.match(line):
        keys.append(next(part for part in match.groups() if part is not None))
        line = line[match.end() :]
        if not line.startswith("."):
            break
        line = line[1:]
    return keys, line


def _still_open(line: str, mark: str, brackets: int) -> tuple[str, int]:
    """Return the mark of the multi-line text and the number of brackets that are open after a line."""
    if mark:
        _, found, line = line.partition(mark)
        if not found:
            return mark, brackets
    for token in _TOKEN.findall(line):
        for candidate in _TEXT_MARKS:
            if token.startswith(candidate) and not (len(token) >= 2 * len(candidate) and token.endswith(candidate)):
                return candidate, brackets
        brackets += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token, 0)
    return "", max(0, brackets)
