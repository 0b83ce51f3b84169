"""Tells whoever watches `toolmesh up` what became of changed toolsets: once, however many workers say so."""

from collections import Counter
from typing import Final

from toolmesh_cli.terminal import Terminal

__all__ = ["ToolsetChanges"]

_REMEMBERED: Final = 10_000


class ToolsetChanges:
    """Each worker reads the same files and tells the same; what the first one says is shown."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._told: Counter[tuple[str, str]] = Counter()
        self._shown: Counter[str] = Counter()

    def tell(self, worker: str, change: str) -> None:
        """Show a change, unless another worker has told of it already; the same one can happen again."""
        if len(self._told) > _REMEMBERED:
            self._told.clear()
            self._shown.clear()
        self._told[worker, change] += 1
        if self._told[worker, change] > self._shown[change]:
            self._shown[change] += 1
            self._terminal.step("reload", change)
