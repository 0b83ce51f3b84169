"""Redaction: keep secrets out of log lines, error messages and everything else that people read."""

import base64
import contextlib
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, Final, Self
from urllib.parse import quote, quote_plus

from toolmesh_telemetry.secret_names import is_secret_name
from toolmesh_telemetry.secret_patterns import MASK, hide_patterns

MAX_DEPTH: Final = 16
MAX_ITEMS: Final = 2000
MAX_TEXT_CHARS: Final = 16 * 1024
MAX_TOTAL_CHARS: Final = 128 * 1024
# Shorter values are part of half of all words, so they are hidden as words of their own only; a single character is
# guessed at once, and would be hidden everywhere. As the value of a telling name any value is hidden anyway.
MIN_SECRET_CHARS: Final = 4
MIN_WORD_CHARS: Final = 2
_MIN_LINE_CHARS: Final = 16
_MARGIN_CHARS: Final = 4096
_MAX_INTEGER_BITS: Final = 1024


class Redactor:
    """Hides the secrets it was told, and those that are recognised by name or by looks.

    Safe to use from several threads. Its `repr` shows no secret.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._spellings: tuple[str, ...] = ()
        self._words: re.Pattern[str] | None = None

    def __repr__(self) -> str:
        return f"Redactor({len(self._counts)} secrets)"

    def add(self, *secrets: str | bytes) -> None:
        """Hide these values from now on, also in JSON, URL and base64 spelling.

        A value of 2 or 3 characters is hidden where it stands as a word of its own; see `is_short_secret`.
        """
        with self._lock:
            self._counts.update(_as_text(secret) for secret in secrets)
            self._respell()

    def remove(self, *secrets: str | bytes) -> None:
        """Take back one `add` of each of these values; a value added twice stays hidden."""
        with self._lock:
            self._counts.subtract(_as_text(secret) for secret in secrets)
            self._counts = +self._counts
            self._respell()

    @contextlib.contextmanager
    def hiding(self, secrets: Iterable[str | bytes]) -> Iterator[Self]:
        """Hide these values within the block, such as for the time of one call."""
        values = tuple(secrets)
        self.add(*values)
        try:
            yield self
        finally:
            self.remove(*values)

    def text(self, text: str) -> str:
        """Return `text`, of any length, with every secret replaced by a mask."""
        return hide_patterns(self.exact(text))

    def exact(self, text: str) -> str:
        """Return `text` with the known secrets replaced, and nothing else that may only look like one."""
        return _hide_spans(text, self._spellings, self._words)

    def undecided(self, text: str) -> int:
        """Return how many characters at the end of a text may be the beginning of a known secret of four or more."""
        longest = max(map(len, self._spellings), default=0)
        for size in range(min(longest - 1, len(text)), 0, -1):
            if any(spelling.startswith(text[-size:]) for spelling in self._spellings):
                return size
        return 0

    def value(self, value: object) -> Any:
        """Return a copy of anything as JSON data without secrets, for a log line.

        Values under a secret name are masked, bytes are decoded, other objects become their `str`. What is too deep,
        too long or contains itself is cut, and the cut is marked.
        """
        return _Copy(self).of(value, depth=0)

    def clip(self, text: str, limit: int = MAX_TEXT_CHARS) -> str:
        """Redact a text and cut it to `limit` characters, without reading more of a huge one than needed."""
        head = text[: limit + _MARGIN_CHARS]
        clean = self.text(head)
        if len(head) < len(text):
            # The end of `head` may hold the beginning of a secret, which nothing could recognise.
            clean = clean[: min(limit, max(0, len(clean) - _MARGIN_CHARS))]
        elif len(clean) > limit:
            clean = clean[:limit]
        else:
            return clean
        return f"{clean} [cut, {len(text)} characters]"

    def _respell(self) -> None:
        long = [secret for secret in self._counts if len(secret) >= MIN_SECRET_CHARS]
        short = filter(is_short_secret, self._counts)
        self._spellings = _longest_first(spelling for secret in long for spelling in _spellings(secret))
        words = "|".join(map(re.escape, _longest_first(one for secret in short for one in _spellings(secret))))
        self._words = re.compile(rf"(?<!\w)(?:{words})(?!\w)") if words else None


class _Copy:
    """One bounded copy: counts what it has taken over, and knows which containers it is inside of."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._items_left = MAX_ITEMS
        self._chars_left = MAX_TOTAL_CHARS
        self._inside: set[int] = set()

    def of(self, value: object, depth: int) -> Any:
        self._items_left -= 1
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float)):
            return _number(value)
        if isinstance(value, (Mapping, list, tuple, Set)):
            return self._container(value, depth)
        return self._text(value)

    def _container(self, value: Mapping[Any, Any] | Iterable[Any], depth: int) -> Any:
        if id(value) in self._inside:
            return "[contains itself]"
        if depth >= MAX_DEPTH:
            return "[too deep]"
        self._inside.add(id(value))
        try:
            if isinstance(value, Mapping):
                return self._mapping(value, depth)
            return self._sequence(value, depth)
        finally:
            self._inside.discard(id(value))

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in value.items():
            if self._spent():
                result["[cut]"] = f"{len(value) - len(result)} more"
                break
            name = self._text(key)
            if is_secret_name(name) and item is not None and not isinstance(item, bool):
                self._items_left -= 1
                result[name] = MASK
            else:
                result[name] = self.of(item, depth + 1)
        return result

    def _sequence(self, value: Iterable[Any], depth: int) -> list[Any]:
        result: list[Any] = []
        for item in value:
            if self._spent():
                result.append("[cut]")
                break
            result.append(self.of(item, depth + 1))
        return result

    def _spent(self) -> bool:
        return self._items_left <= 0 or self._chars_left <= 0

    def _text(self, value: object) -> str:
        text = _printed(value)
        clean = self._redactor.clip(text, max(0, min(MAX_TEXT_CHARS, self._chars_left)))
        self._chars_left -= len(clean)
        return clean


def _number(value: float) -> float | str:
    if isinstance(value, int):
        # Python refuses to print integers of many thousand digits.
        return value if value.bit_length() <= _MAX_INTEGER_BITS else f"[integer of {value.bit_length()} bits]"
    return value if math.isfinite(value) else str(value)


def _printed(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value[: MAX_TEXT_CHARS + _MARGIN_CHARS + 1]).decode("utf-8", "replace")
        return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value)
    except Exception:  # noqa: BLE001 - a foreign __str__ can raise anything, and logging must go on
        return f"[unprintable {type(value).__name__}]"


def _as_text(secret: str | bytes) -> str:
    return secret if isinstance(secret, str) else secret.decode("utf-8", "replace")


def is_short_secret(secret: str) -> bool:
    """Return whether a secret is hidden only where no letter, digit or underscore stands next to it.

    That is so for 2 or 3 characters, one of which is itself a letter, digit or underscore: anything else that short is
    not hidden in texts at all.
    """
    return MIN_WORD_CHARS <= len(secret) < MIN_SECRET_CHARS and re.search(r"\w", secret) is not None


def _longest_first(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(texts), key=len, reverse=True))


def _spellings(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret)[1:-1]
    yield quote(raw, safe="")
    yield quote_plus(raw)
    yield base64.b64encode(raw).decode("ascii").rstrip("=")
    yield base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")
    # One line of a key file is secret enough.
    yield from (line for line in secret.splitlines() if len(line) >= _MIN_LINE_CHARS)


def _hide_spans(text: str, needles: tuple[str, ...], words: re.Pattern[str] | None) -> str:
    """Replace every needle and word; overlapping ones become one mask, so that no rest is left over."""
    spans = [] if words is None else [match.span() for match in words.finditer(text)]
    for needle in needles:
        start = text.find(needle)
        while start >= 0:
            spans.append((start, start + len(needle)))
            start = text.find(needle, start + 1)
    if not spans:
        return text
    parts: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done:
            parts += (text[done:start], MASK)
        done = max(done, end)
    return "".join((*parts, text[done:]))
