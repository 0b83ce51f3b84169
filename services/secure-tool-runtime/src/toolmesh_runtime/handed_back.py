"""Remembers since when this worker has been handing a call back, for want of its tool."""

import time
from collections import OrderedDict
from typing import Final

__all__ = ["HandedBack"]

_REMEMBERED: Final = 10_000


class HandedBack:
    """The calls by id, the longest remembered first; bounded."""

    def __init__(self) -> None:
        self._since: OrderedDict[str, float] = OrderedDict()

    def for_longer_than(self, invocation: str, seconds: float) -> bool:
        """Note that the call is here again, and tell whether it first was so many seconds ago."""
        now = time.monotonic()
        since = self._since.setdefault(invocation, now)
        if len(self._since) > _REMEMBERED:
            self._since.popitem(last=False)
        if now - since < seconds:
            return False
        self._since.pop(invocation, None)
        return True
