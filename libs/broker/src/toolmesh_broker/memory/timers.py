"""Timers that end with their hub."""

import asyncio
from collections.abc import Callable

__all__ = ["Timers"]


class Timers:
    """Runs callbacks later on the running loop."""

    def __init__(self) -> None:
        self._handles: set[asyncio.TimerHandle] = set()

    def after(self, delay_s: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        """Call `callback` in `delay_s` seconds."""
        handle: asyncio.TimerHandle | None = None

        def run() -> None:
            if handle is not None:
                self._handles.discard(handle)
            callback()

        handle = asyncio.get_running_loop().call_later(delay_s, run)
        self._handles.add(handle)
        return handle

    def cancel(self, handle: asyncio.TimerHandle | None) -> None:
        """Forget a timer; None and one that has run are fine."""
        if handle is not None:
            handle.cancel()
            self._handles.discard(handle)

    def cancel_all(self) -> None:
        """Forget all timers."""
        for handle in self._handles:
            handle.cancel()
        self._handles.clear()
