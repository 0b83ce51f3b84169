"""What a provider says, without secrets of ours, which it may repeat, and without halves of characters."""

from urllib.parse import urlsplit

from toolmesh_executor.models.endpoints import Endpoint
from toolmesh_telemetry.redaction import Redactor

__all__ = ["TextCleaner"]


class TextCleaner:
    """Cleans whole texts, and one that comes in pieces.

    Args:
        endpoint: Whose key and password are hidden.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._hide = Redactor()
        self._hide.add(endpoint.api_key, urlsplit(endpoint.base_url or "").password or "")
        self._held = ""

    def whole(self, text: str) -> str:
        """Return a text as it may travel on."""
        # JSON can hold half of a surrogate pair, UTF-8 can't.
        return self._hide.exact(text.encode(errors="replace").decode())

    def add(self, piece: str) -> str:
        """Take the next piece and return what can be passed on; the rest may be the beginning of a secret."""
        text = self.whole(self._held + piece)
        sure = len(text) - self._hide.undecided(text)
        self._held = text[sure:]
        return text[:sure]

    def finish(self) -> str:
        """Return what is left at the end."""
        held, self._held = self._held, ""
        return held
