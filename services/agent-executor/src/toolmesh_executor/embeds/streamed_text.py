"""Replaces the embeds of a text for people while it is written, apart from its fenced code."""

import re
from collections.abc import Callable
from typing import Final

from toolmesh_executor.embeds.tokens import open_tail

__all__ = ["StreamedText"]

_FENCE: Final = re.compile(r" {0,3}(?:(?P<ticks>`{3,})[^`\n]*|(?P<tildes>~{3,})[^\n]*)\r?\n?")
_MAYBE_FENCE: Final = re.compile(r" {0,3}(?:`{0,2}|~{0,2}|(?:```|~~~)[^\n]*)")


class StreamedText:
    """One text that comes in chunks; however it is cut, the same comes out.

    What can't be told yet waits: an embed without its end, and a line that begins like a fence.

    Args:
        replace: Returns what a piece of text outside of code becomes.
    """

    def __init__(self, replace: Callable[[str], str]) -> None:
        self._replace = replace
        self._waiting = ""
        self._fence = ""
        """Characters that opened the code block that we are in."""
        self._within_line = False
        """The line's beginning is out already, so that it is no fence."""

    def feed(self, chunk: str) -> str:
        """Take the next chunk, and return what can be shown of the text now."""
        shown: list[str] = []
        *lines, tail = (self._waiting + chunk).split("\n")
        for line in lines:
            shown.append(self._line(line + "\n"))
            self._within_line = False
        ready = self._ready(tail)
        if ready:
            shown.append(self._piece(tail[:ready]))
            self._within_line = True
        self._waiting = tail[ready:]
        return "".join(shown)

    def end(self) -> str:
        """Return the rest."""
        rest, self._waiting = self._waiting, ""
        return self._line(rest)

    def _ready(self, tail: str) -> int:
        if not self._within_line and _MAYBE_FENCE.fullmatch(tail):
            return 0
        return len(tail) if self._fence else open_tail(tail)

    def _line(self, line: str) -> str:
        """Return a line's rest, of which the end is known."""
        fence = None if self._within_line else _FENCE.fullmatch(line)
        if fence is None:
            return self._piece(line)
        marks = fence["ticks"] or fence["tildes"]
        if not self._fence:
            self._fence = marks
        elif marks.startswith(self._fence) and line.strip() == marks:
            self._fence = ""
        return line

    def _piece(self, text: str) -> str:
        return text if self._fence else self._replace(text)
