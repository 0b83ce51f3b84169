"""What is wrong with a configuration file, said so that a person can repair it."""

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["ConfigError", "ConfigPath", "Problem", "describe", "format_path", "nearest"]

ConfigPath: TypeAlias = tuple[str | int, ...]
"""Where a value is in a document: keys of mappings and indexes of lists, outermost first."""

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN_CHARACTERS = 60
_MAX_SHOWN_PROBLEMS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake in one file.

    Attributes:
        file: The file's name as the person gave it.
        line: 1 for the first line; None when the place has no line.
        path: Keys down to the value; empty for the whole file.
        message: What is wrong.
        found: What stands there, shortened; never a secret.
        allowed: What may stand there.
        suggestion: The nearest allowed spelling.
    """

    file: str
    message: str
    line: int | None = None
    path: ConfigPath = ()
    found: str = ""
    allowed: str = ""
    suggestion: str = ""

    @property
    def place(self) -> str:
        """The file, with the line if there is one."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        where = self.place
        parts = [f"{where}: {format_path(self.path)}: {self.message}" if self.path else f"{where}: {self.message}"]
        if self.found:
            parts.append(f"found {self.found}")
        if self.suggestion:
            parts.append(f"did you mean {self.suggestion!r}?")
        if self.allowed:
            parts.append(f"allowed: {self.allowed}")
        return "; ".join(parts)


class ConfigError(ToolmeshError):
    """Raised when a configuration file can't be used; carries every problem found in it."""

    default_code: ClassVar[ErrorCode] = ErrorCode.INVALID_CONFIGURATION

    def __init__(self, problems: Iterable[Problem], *, hint: str = "") -> None:
        self.problems = tuple(problems)
        shown = [str(problem) for problem in self.problems[:_MAX_SHOWN_PROBLEMS]]
        if len(self.problems) > len(shown):
            shown.append(f"and {len(self.problems) - len(shown)} more problems")
        super().__init__("\n".join(shown), hint=hint)


def format_path(path: ConfigPath) -> str:
    """Write a path as people do: `agents[0].tools[1].auth.type`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return text


def describe(value: object) -> str:
    """Return a value as a message may show it: scalars shortened, collections by kind."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def nearest(word: str, allowed: Sequence[str]) -> str:
    """Return the allowed spelling nearest to `word`, or an empty text when none is near."""
    by_folded = {choice.casefold(): choice for choice in allowed}
    matches = difflib.get_close_matches(word.casefold()[:100], list(by_folded), n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else ""
