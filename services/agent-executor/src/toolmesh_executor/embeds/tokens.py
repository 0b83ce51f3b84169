"""Finds embeds in a text: `«type:expression»` or `«type:expression | format»`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["Embed", "may_become_embed", "replace_embeds"]

_NAME: Final = "[A-Za-z0-9_]"
_LONGEST_NAME: Final = 64
_LONGEST_EXPRESSION: Final = 4000
# No guillemet inside: texts are read once, from left to right, and an embed never holds another one.
_INSIDE: Final = rf"[^«»\n]{{0,{_LONGEST_EXPRESSION}}}"
_EMBED: Final = re.compile(rf"«({_NAME}{{1,{_LONGEST_NAME}}}):({_INSIDE})»")
_BEGUN: Final = re.compile(rf"«(?:{_NAME}{{0,{_LONGEST_NAME}}}|{_NAME}{{1,{_LONGEST_NAME}}}:{_INSIDE})")


@dataclass(frozen=True, slots=True)
class Embed:
    """One embed.

    Attributes:
        type: What kind of thing it stands for.
        expression: What stands behind the colon, a format included.
    """

    type: str
    expression: str

    @property
    def length(self) -> int:
        """Characters that it takes in its text."""
        return len(self.type) + len(self.expression) + len("«:»")

    def split_format(self) -> tuple[str, str]:
        """Return the expression before the first `|`, and the format behind it; empty without one."""
        expression, _, form = self.expression.partition("|")
        return expression.strip(), form.strip()


def replace_embeds(text: str, value_of: Callable[[Embed], str | None]) -> str:
    """Return a text with its embeds replaced, each once: what is put in is not read again.

    Args:
        text: Any text; what is not an embed stays byte for byte.
        value_of: Returns what an embed stands for; None leaves it as it is.
    """

    def value(match: re.Match[str]) -> str:
        found = value_of(Embed(match[1], match[2]))
        return match[0] if found is None else found

    return _EMBED.sub(value, text)


def may_become_embed(text: str) -> int:
    """Return where the last embed begins that the next piece of a text may end; the text's length without one."""
    begun = text.rfind("«")
    return begun if begun >= 0 and _BEGUN.fullmatch(text, begun) else len(text)
