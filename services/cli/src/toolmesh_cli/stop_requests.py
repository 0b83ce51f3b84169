"""Ctrl-C, SIGTERM and a closed terminal: the first asks for an orderly end, the second ends everything at once."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Final

__all__ = ["stop_requests"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def stop_requests(
    first: Callable[[], object], again: Callable[[], object], interrupt: Callable[[], object] | None = None
) -> Iterator[None]:
    """Call `first` at the first signal and `again` at each later one, inside the block.

    Where `interrupt` is given, Ctrl-C calls that instead.

    SIGHUP is never a later one, as the kernel and the shell both send it when a terminal is closed. Where it is
    ignored, as under nohup, it stays ignored. Call it in the main thread's event loop.
    """
    loop = asyncio.get_running_loop()
    count = 0

    def received() -> None:
        nonlocal count
        count += 1
        (first if count == 1 else again)()

    def hung_up() -> None:
        if count == 0:
            received()

    handlers: dict[signal.Signals, Callable[[], object]] = dict.fromkeys(_SIGNALS, received)
    if interrupt is not None:
        handlers[signal.SIGINT] = interrupt
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handlers[signal.SIGHUP] = hung_up
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
