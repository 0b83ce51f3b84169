"""An event loop whose clock moves only when told to, so that hours of waiting cost nothing and every run is the same."""

import asyncio
import selectors
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from unittest.mock import patch

__all__ = ["VirtualLoop"]

_STARTED_AT: Final = 1_800_000_000.0
"""Unix time at which every loop begins."""
_ROUNDING_S: Final = 1e-6


class _IdleSelector(selectors.DefaultSelector):
    """Waits for nothing: where a real one would sleep, it stops the loop and tells how long that sleep would be."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.next_timer_s: float | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout != 0 and self.loop is not None:
            self.next_timer_s = timeout
            self.loop.stop()
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs callbacks until none is ready; time passes in `pass_time` only."""

    def __init__(self) -> None:
        self._now = 0.0
        self._idle = _IdleSelector()
        super().__init__(self._idle)
        self._idle.loop = self

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._now

    def wall_clock(self) -> float:
        """Unix time as the code under test sees it."""
        return _STARTED_AT + self._now

    def settle(self) -> None:
        """Run until everything waits for a message or for time."""
        with self._clocks():
            self.run_forever()

    def pass_time(self, seconds: float) -> None:
        """Let time pass; each timer fires when it is due."""
        end = self._now + seconds
        self.settle()
        while (wait_s := self._idle.next_timer_s) is not None and self._now + wait_s <= end:
            self._now += max(wait_s, _ROUNDING_S)
            self.settle()
        self._now = max(self._now, end)
        self.settle()

    @contextmanager
    def _clocks(self) -> Iterator[None]:
        with (
            patch.object(time, "time", self.wall_clock),
            patch.object(time, "time_ns", lambda: int(self.wall_clock() * 1e9)),
            patch.object(time, "monotonic", self.time),
        ):
            yield
