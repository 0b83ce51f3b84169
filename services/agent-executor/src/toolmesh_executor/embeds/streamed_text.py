"""Replaces the embeds in a text that comes in pieces, but not in blocks of code."""

import re
from collections.abc import Callable
from enum import Enum
from typing import Final

from toolmesh_executor.embeds.tokens import may_become_embed

__all__ = ["StreamedText"]

_OPENING: Final = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_CLOSING: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t\r]*")
_UNDECIDED: Final = re.compile(r" {0,3}(`{0,2}|`{3,}[^`]*|~{0,2})")
_LONGEST_FENCE: Final = 1000
"""Characters of a line that are looked at to tell whether it begins or ends a block."""


class _Line(Enum):
    UNKNOWN = "unknown"
    """Not enough of it has come to tell."""
    TEXT = "text"
    CODE = "code"
    """Of a fenced block (CommonMark 4.5), its first and last line included: it stays as it is."""


class StreamedText:
    """One text. Whatever its pieces are, what comes out is the same in the end.

    Args:
        replace: Returns what a piece of text becomes that cuts no embed in two.
    """

    def __init__(self, replace: Callable[[str], str]) -> None:
        self._replace = replace
        self._held = ""
        self._line = ""
        self._kind = _Line.UNKNOWN
        self._fence = ""

    def add(self, text: str) -> str:
        """Take the next piece and return what can be passed on; the rest may become an embed."""
        *lines, last = (self._held + text).split("\n")
        self._held = ""
        whole = "".join(self._passed(f"{line}\n", ended=True) for line in lines)
        return whole + self._passed(last, ended=False)

    def finish(self) -> str:
        """Return what is left at the end of the text."""
        held, self._held = self._held, ""
        return self._passed(held, ended=True)

    def _passed(self, part: str, *, ended: bool) -> str:
        """Return what becomes of a part of one line; what may change with the next piece is held."""
        if self._kind is _Line.UNKNOWN:
            self._kind = self._kind_of(part, ended=ended)
        if self._kind is _Line.UNKNOWN:
            self._held = part
            return ""
        sure = len(part) if ended or self._kind is _Line.CODE else may_become_embed(part)
        self._held = part[sure:]
        part = part[:sure]
        if self._kind is _Line.CODE:
            self._line = (self._line + part)[: _LONGEST_FENCE + 1]
        shown = part if self._kind is _Line.CODE else self._replace(part)
        if ended:
            self._end_line()
        return shown

    def _kind_of(self, part: str, *, ended: bool) -> _Line:
        if self._fence:
            return _Line.CODE
        begin = part[:_LONGEST_FENCE]
        if not ended and begin == part and _UNDECIDED.fullmatch(begin):
            return _Line.UNKNOWN
        return _Line.CODE if _OPENING.match(begin.rstrip("\n")) else _Line.TEXT

    def _end_line(self) -> None:
        line = self._line[:_LONGEST_FENCE].rstrip("\n")
        if self._kind is _Line.CODE and not self._fence:
            opening = _OPENING.match(line)
            self._fence = "" if opening is None else opening[1]
        elif self._fence and (closing := _CLOSING.fullmatch(line)) and closing[1].startswith(self._fence):
            self._fence = ""
        self._line, self._kind = "", _Line.UNKNOWN
