"""Lines for a person: progress on stderr, results on stdout, colours only where a terminal shows them."""

import os
import re
import shutil
import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TextIO

from toolmesh_cli.failures import OutputLostError, ReaderGoneError
from toolmesh_cli.standard_streams import silence

__all__ = ["Colour", "Terminal", "visible"]

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Colour(StrEnum):
    """Escape codes (ECMA-48 SGR) by what they are used for."""

    GOOD = "\x1b[32m"
    BAD = "\x1b[31m"
    WARNING = "\x1b[33m"
    FAINT = "\x1b[2m"
    STRONG = "\x1b[1m"


_RESET: Final = "\x1b[0m"


def visible(text: str) -> str:
    """Return `text` with control and direction characters written out, so that a tool can't drive the terminal.

    So are halves of characters, such as names of files that are no UTF-8 have, which could not be written at all.
    """
    return _CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


def _wants_colour(stream: TextIO, environment: Mapping[str, str]) -> bool:
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


class Terminal:
    """Writes whole lines to one stream.

    Args:
        stream: Where to.
        environment: Says whether colours are wanted.
        must_arrive: Whether a line that can't be written is an error; otherwise it and all later ones are dropped.
    """

    def __init__(
        self, stream: TextIO, environment: Mapping[str, str] = os.environ, *, must_arrive: bool = True
    ) -> None:
        self._stream = stream
        self._must_arrive = must_arrive
        self._colour = _wants_colour(stream, environment)

    @classmethod
    def stderr(cls) -> "Terminal":
        """Return the place for progress and errors; a full disk or a closed terminal there stops nothing."""
        return cls(sys.stderr, must_arrive=False)

    @classmethod
    def stdout(cls) -> "Terminal":
        """Return the place for results."""
        return cls(sys.stdout)

    @property
    def width(self) -> int | None:
        """Characters of a line; None where no terminal ends it. The variable COLUMNS overrides the terminal's own."""
        return shutil.get_terminal_size().columns if self._stream.isatty() else None

    def paint(self, text: str, colour: Colour) -> str:
        """Return `text` in the colour, or unchanged where there are no colours."""
        return f"{colour.value}{text}{_RESET}" if self._colour else text

    def line(self, text: str) -> None:
        """Write one line at once.

        Raises:
            ReaderGoneError: nobody reads the results any more.
            OutputLostError: the results can't be written.
        """
        self.piece(f"{text}\n")

    def piece(self, text: str) -> None:
        """Write a piece of text at once.

        Raises:
            ReaderGoneError, OutputLostError: as for a line.
        """
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError as error:
            silence(self._stream)
            if not self._must_arrive:
                return
            if isinstance(error, BrokenPipeError):
                raise ReaderGoneError from error
            raise OutputLostError(error) from error

    def step(self, name: str, text: str) -> None:
        """Write a line of progress: a name of at most ten characters, then what happened."""
        self.line(f"{self.paint(f'{name:<10}', Colour.STRONG)} {visible(text)}")

    def warning(self, text: str) -> None:
        """Write what is odd but stops nothing."""
        self.line(f"{self.paint('warning:', Colour.WARNING)} {visible(text)}")

    def problem(self, text: str) -> None:
        """Write what is missing because of an error elsewhere."""
        self.line(f"{self.paint('problem:', Colour.BAD)} {visible(text)}")

    def error(self, code: str, message: str, hint: str = "") -> None:
        """Write an error and, if there is one, what to do next."""
        self.line(f"{self.paint(f'error [{code}]:', Colour.BAD)} {visible(message)}")
        if hint:
            self.hint(hint)

    def hint(self, text: str) -> None:
        """Write what to do next."""
        self.line(f"{self.paint('hint:', Colour.WARNING)} {visible(text)}")
