"""Ctrl-C and SIGTERM: the first asks for an orderly end, the second ends everything at once."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Final

__all__ = ["stop_requests"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def stop_requests(first: Callable[[], object], again: Callable[[], object]) -> Iterator[None]:
    """Call `first` at the first signal and `again` at each later one, inside the block.

    Call it in the main thread's event loop.
    """
    loop = asyncio.get_running_loop()
    count = 0

    def received() -> None:
        nonlocal count
        count += 1
        (first if count == 1 else again)()

    for number in _SIGNALS:
        loop.add_signal_handler(number, received)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
