"""Docstrings: the first paragraph for the model, the parameter texts of Google, NumPy and Sphinx form, the rest."""

from __future__ import annotations

import re

_GOOGLE_HEADER = re.compile(r"^(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Attributes):\s*$")
_NUMPY_HEADER = re.compile(r"^(Parameters|Other Parameters|Attributes)\s*$")
_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\(.*?\)|\[.*?\])?\s*:\s*(.*)$")
_NUMPY_ENTRY = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX = re.compile(r"^:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_SPHINX_TYPE = re.compile(r"^:type\s+\w+\s*:")


class Docstring:
    """What a docstring says.

    Args:
        description: The first paragraph as one line.
        instructions: The later paragraphs, without the parameter texts.
        parameters: Text of each parameter.
    """

    __slots__ = ("description", "instructions", "parameters")

    def __init__(self, description: str, instructions: str, parameters: dict[str, str]) -> None:
        self.description = description
        self.instructions = instructions
        self.parameters = parameters


def parse_docstring(text: str | None) -> Docstring:
    """Return the parts of a docstring; all empty for None."""
    lines = _dedented(text or "")
    parameters: dict[str, str] = {}
    rest: list[str] = []
    position = 0
    while position < len(lines):
        consumed = _read_section(lines, position, parameters)
        if consumed == 0:
            rest.append(lines[position])
        position += consumed or 1
    paragraphs = "\n".join(rest).strip().split("\n\n", 1)
    # A docstring that begins with its parameters has no description, whatever follows.
    begins_with_section = bool(lines and _GOOGLE_HEADER.match(lines[0]))
    description = "" if begins_with_section else " ".join(paragraphs[0].split())
    return Docstring(description, paragraphs[1].strip() if len(paragraphs) > 1 else "", parameters)


def _read_section(lines: list[str], start: int, parameters: dict[str, str]) -> int:
    """Read a parameter section that begins at a line; return how many lines it has, 0 when there is none."""
    line = lines[start]
    if _GOOGLE_HEADER.match(line):
        end = _end_of_indented(lines, start + 1)
        _read_entries(lines[start + 1 : end], _ENTRY, parameters)
        return end - start
    if _NUMPY_HEADER.match(line) and start + 1 < len(lines) and re.match(r"^-{3,}\s*$", lines[start + 1]):
        end = _end_of_numpy(lines, start + 2)
        _read_entries(lines[start + 2 : end], _NUMPY_ENTRY, parameters)
        return end - start
    if (field := _SPHINX.match(line)) or _SPHINX_TYPE.match(line):
        end = _end_of_indented(lines, start + 1, stop_at_blank=True)
        if field:
            parameters[field[1]] = _joined([field[2], *lines[start + 1 : end]])
        return end - start
    return 0


def _end_of_indented(lines: list[str], position: int, stop_at_blank: bool = False) -> int:
    while position < len(lines) and (lines[position].startswith((" ", "\t")) or not lines[position]):
        if not lines[position] and stop_at_blank:
            break
        position += 1
    return position


def _end_of_numpy(lines: list[str], position: int) -> int:
    while position < len(lines):
        underlined = position + 1 < len(lines) and re.match(r"^-{3,}\s*$", lines[position + 1])
        after_gap = not lines[position - 1] and lines[position] and not _NUMPY_ENTRY.match(lines[position])
        if underlined or after_gap:
            break
        position += 1
    return position


def _read_entries(lines: list[str], pattern: re.Pattern[str], parameters: dict[str, str]) -> None:
    filled = [line for line in lines if line]
    margin = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    names: list[str] = []
    texts: list[str] = []

    def finish() -> None:
        for name in names:
            parameters[name] = _joined(texts)

    for line in filled:
        entry = pattern.match(line[margin:]) if len(line) - len(line.lstrip()) == margin else None
        if entry is None:
            texts.append(line)
            continue
        finish()
        names = [name.strip().lstrip("*") for name in entry[1].split(",")]
        texts = [entry[2]] if pattern is _ENTRY else []
    finish()


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _dedented(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.expandtabs().strip("\n").splitlines()]
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line]
    margin = min(margins, default=0)
    return [lines[0].strip(), *(line[margin:] for line in lines[1:])] if lines else []
