"""Kinds of secrets that can be told by their looks, wherever they stand in a text.

Every pattern takes time linear in the text: no unbounded repeat can start again inside what it has already read.
"""

import re
from collections.abc import Callable
from typing import Final

MASK: Final = "[redacted]"

_QUOTE: Final = r"\\{0,8}[\"']"
_ASSIGN: Final = rf"(?:{_QUOTE})?\s{{0,4}}[:=]\s{{0,4}}"
_ASSIGN_SURE: Final = rf"(?:{_QUOTE}\s{{0,4}}[:=]|\s{{0,4}}=)\s{{0,4}}"
# Quoted, quoted inside a quoted text, or bare; a closing quote may be missing because the text was cut. It stands last
# in its patterns, where nothing can fail and go back; possessive groups match wrongly before Python 3.11.5.
_VALUE: Final = (
    r"(\"(?:[^\"\\]|\\.)*\"?"
    r"|'(?:[^'\\]|\\.)*'?"
    r"|\\{1,8}\"(?:[^\"\\]|\\{1,8}[^\"\\])*"
    r"|\\{1,8}'(?:[^'\\]|\\{1,8}[^'\\])*"
    r"|(?!(?:null|none|true|false)\b)[^\s\"',;&()\[\]{}\\][^\s\"',;&]*+)"
)
_SURE_NAMES: Final = (
    r"pass(?:word|wd|phrase)|pwd|client[_-]?secret|(?:api|access|secret|private|signing)[_-]?key"
    r"|(?:access|refresh|id|auth|session|bearer)[_-]?token"
)
# "token: x" and "secret: x" are common prose, so these need an equals sign or a quoted name.
_VAGUE_NAMES: Final = r"token|secrets?|credentials?|creds"

_OPENING: Final = re.compile(r"\\*[\"']?")


def _hide_value(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    opening = _OPENING.match(value)
    quote = opening[0] if opening else ""
    if value[len(quote) :].startswith(MASK):
        return match[0]
    closing = quote if quote and len(value) > len(quote) and value.endswith(quote) else ""
    return f"{name}{quote}{MASK}{closing}"


def _hide_jwt(match: re.Match[str]) -> str:
    start = match[0].find("eyJ")
    return match[0] if start < 0 else match[0][:start] + MASK


_Replacement = str | Callable[[re.Match[str]], str]

# A part that must occur for the pattern to be worth a try (lower case, compared without case; "" always), pattern, what
# to put in its place. The order matters: what is hidden as a whole first is not looked into again.
_KINDS: Final[tuple[tuple[tuple[str, ...], re.Pattern[str], _Replacement], ...]] = (
    (
        ("private key-----",),
        re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.S),
        MASK,
    ),
    (("://",), re.compile(r"(://)[^\s/?#\"'<>]{1,1024}@"), rf"\1{MASK}@"),
    (
        ("authorization", "cookie"),
        re.compile(rf"(?i)((?>(?:authorization|cookie){_ASSIGN}(?:{_QUOTE})?))(?!\[redacted\])[^\r\n\"'\\]++"),
        rf"\1{MASK}",
    ),
    (
        ("bearer", "basic"),
        re.compile(
            r"(?i)\b((?:bearer|basic)\s{1,4})(?:[a-z0-9._~+/=-]{16,}+|(?=[a-z._~+/=-]{0,15}[0-9])[a-z0-9._~+/=-]{8,}+)"
        ),
        rf"\1{MASK}",
    ),
    (("eyj",), re.compile(r"(?<![\w-])[\w-]++\.[\w-]++(?:\.[\w-]*+){0,3}", re.A), _hide_jwt),
    (("",), re.compile(r"(?<![A-Z2-7])S[ACNOUX][A-Z2-7]{56}"), MASK),
    (
        ("pass", "pwd", "secret", "key", "token"),
        re.compile(rf"((?:{_SURE_NAMES}){_ASSIGN}){_VALUE}", re.I | re.S),
        _hide_value,
    ),
    (
        ("token", "secret", "cred"),
        re.compile(rf"((?:{_VAGUE_NAMES}){_ASSIGN_SURE}){_VALUE}", re.I | re.S),
        _hide_value,
    ),
)


def hide_patterns(text: str) -> str:
    """Replace every recognised secret in `text` by a mask.

    Recognised are private keys in PEM, the user part of URLs, authorization and cookie headers, bearer and basic
    credentials, JWTs, NATS nkey seeds, and values assigned to names such as `password`.
    """
    lower = text.lower()
    for needed, pattern, replacement in _KINDS:
        if any(part in lower for part in needed):
            text = pattern.sub(replacement, text)
    return text
