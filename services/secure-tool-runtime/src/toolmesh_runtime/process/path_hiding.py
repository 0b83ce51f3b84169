"""Takes the machine's paths out of what a tool says, for those who only see the tool."""

from collections.abc import Iterable
from pathlib import PurePath

__all__ = ["PathHider"]


class PathHider:
    """Replaces folders by what they are to the tool.

    Args:
        folders: The folders, each with a word for it; an empty word makes paths in it relative.
    """

    def __init__(self, folders: Iterable[tuple[PurePath, str]]) -> None:
        pairs = {str(folder): word for folder, word in folders}
        # The longest first: one may lie in another.
        self._pairs = sorted(pairs.items(), key=lambda pair: len(pair[0]), reverse=True)

    def text(self, text: str) -> str:
        """Return a text without the folders."""
        for folder, word in self._pairs:
            if folder in text:
                text = text.replace(f"{folder}/", f"{word}/" if word else "").replace(folder, word or ".")
        return text
