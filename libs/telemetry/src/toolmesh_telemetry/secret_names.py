"""Names of fields whose value is nobody's business."""

import re
from functools import lru_cache
from typing import Final

_MAX_NAME: Final = 256
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Anywhere in the name, however it is written: dbpassword, DB_PASSWORD, clientSecret.
_PARTS: Final = ("password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey", "credential")
# Only as a word of its own: `tokens_used` and `author` are harmless.
_WORDS: Final = frozenset({"pwd", "creds", "nkey", "cookie", "cookies", "bearer", "seed", "jwt"})
# Only at the end: `token_count` and `authorization_url` are harmless.
_LAST_WORDS: Final = frozenset({"token", "authorization", "auth"})


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Tell whether a field of this name holds a secret, such as `password`, `apiKey` or `X-Auth-Token`."""
    words = [word.lower() for word in _WORD.findall(name[:_MAX_NAME])]
    joined = "".join(words)
    return (
        any(part in joined for part in _PARTS)
        or not _WORDS.isdisjoint(words)
        or (bool(words) and words[-1] in _LAST_WORDS)
    )
