"""A mapping whose content is replaced as a whole."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

__all__ = ["LiveMapping"]

V = TypeVar("V")


class LiveMapping(Mapping[str, V]):
    """Shows the newest content to all who hold it; what they took out of it stays as it was."""

    def __init__(self) -> None:
        self._content: Mapping[str, V] = {}

    def replace(self, content: Mapping[str, V]) -> None:
        """Show other content from now on; it must not change any more."""
        self._content = content

    def __getitem__(self, name: str) -> V:
        return self._content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)
