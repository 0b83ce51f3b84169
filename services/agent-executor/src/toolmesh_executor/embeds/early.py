"""What the embeds stand for that need no artifact: math, datetime, uuid and status_update."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random, SystemRandom
from typing import Final
from uuid import UUID, uuid4

from toolmesh_executor.embeds.arithmetic import ArithmeticFaultError, Number, evaluate
from toolmesh_executor.embeds.tokens import Embed, replace_embeds

__all__ = ["EarlyEmbeds", "Growth"]

_FORMAT: Final = re.compile(r"(?:.?[<>=^])?[-+ ]?z?#?0?\d{0,3}[,_]?(?:\.\d{1,3})?[bdoxXeEfFgG%]?")
_STRFTIME: Final = re.compile(r"(?:[^%]|%-?[A-Za-z%])*")
_NAMED_TIMES: Final = {"date": "%Y-%m-%d", "time": "%H:%M:%S"}


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class Growth:
    """By how much a text, or several, may grow: values can be a hundred times as long as what stands for them.

    Attributes:
        left: Characters.
    """

    left: int = 128 * 1024


@dataclass(frozen=True, slots=True)
class EarlyEmbeds:
    """Replaces the embeds whose values are there before a tool runs. All others stay as they are.

    Attributes:
        now: Tells the time, with its zone.
        new_uuid: Makes a UUID.
        rng: Where chance comes from.
    """

    now: Callable[[], datetime] = _now
    new_uuid: Callable[[], UUID] = uuid4
    rng: Random = field(default_factory=SystemRandom)

    def replace(self, text: str, on_status: Callable[[str], None], growth: Growth) -> str:
        """Return a text with its embeds replaced; never fails.

        Args:
            text: Any text.
            on_status: Is told the text of each status_update, which is taken out.
            growth: What is left of it is used up; embeds whose values are longer stay as they are.
        """

        def value_of(embed: Embed) -> str | None:
            if embed.type == "status_update":
                if text := embed.expression.strip():
                    on_status(text)
                return ""
            value = self._value(embed)
            if value is None or (longer := len(value) - embed.length) > growth.left:
                return None
            growth.left -= max(longer, 0)
            return value

        return replace_embeds(text, value_of)

    def _value(self, embed: Embed) -> str | None:
        match embed.type:
            case "math":
                return self._math(embed)
            case "datetime":
                return self._datetime(embed.expression.strip())
            case "uuid":
                return str(self.new_uuid())
            case _:
                return None

    def _math(self, embed: Embed) -> str:
        expression, form = embed.split_format()
        try:
            return _formatted(evaluate(expression, self.rng), form)
        except ArithmeticFaultError as fault:
            return f"[Error: Math evaluation error: {fault}]"

    def _datetime(self, wanted: str) -> str:
        now = self.now()
        word = wanted.lower()
        if word in {"", "now", "iso"}:
            return now.isoformat()
        if word == "timestamp":
            return str(now.timestamp())
        # A width, as in `%99999d`, would make the text as long as it says.
        if not _STRFTIME.fullmatch(wanted):
            return "[Error: Datetime formatting error: only directives such as %Y or %-d are allowed]"
        try:
            return now.strftime(_NAMED_TIMES.get(word, wanted))
        except ValueError:
            return "[Error: Datetime formatting error: the format holds characters that are not allowed]"


def _formatted(number: Number, form: str) -> str:
    """Return a number under a format of Python's; as it is if that is none for numbers."""
    if not _FORMAT.fullmatch(form):
        return str(number)
    try:
        return format(number, form)
    except (ValueError, OverflowError):
        return str(number)
