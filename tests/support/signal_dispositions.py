"""Sets what a signal does to this process, and to those that it starts meanwhile."""

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def disposition(number: signal.Signals, action: signal.Handlers) -> Iterator[None]:
    """Ignore a signal or let it have its default effect, whatever who started the tests had set, as nohup does."""
    before = signal.signal(number, action)
    try:
        yield
    finally:
        signal.signal(number, before)
