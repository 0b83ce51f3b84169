"""Functions that are called whenever something happens, until they are taken away."""

from collections.abc import Callable

__all__ = ["Callbacks"]


class Callbacks:
    """Callbacks for one kind of event."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], None]] = []

    def add(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Add a callback, and return what takes it away again; calling that twice does no harm."""
        self._callbacks.append(callback)

        def forget() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return forget

    def call(self) -> None:
        """Call those that are there now."""
        for callback in list(self._callbacks):
            callback()
