"""Rows of text as aligned columns."""

from collections.abc import Sequence
from typing import Final

__all__ = ["table"]

_LEAST: Final = 16
"""Characters of the last column that are always shown."""


def table(rows: Sequence[tuple[str, ...]], width: int | None = None) -> list[str]:
    """Return one line for each row, each column as wide as its widest cell; at least one row is needed.

    Args:
        rows: The cells, as many in each row.
        width: Characters of a line; longer last cells are cut after a word and end with an ellipsis. None cuts nothing.
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    if width is not None:
        widths[-1] = min(widths[-1], max(width - sum(widths[:-1]) - 2 * (len(widths) - 1), _LEAST))
    return [
        "  ".join(
            f"{cell:<{size}}" for cell, size in zip((*row[:-1], _cut(row[-1], widths[-1])), widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    room = text[: width - 1]
    whole_words = room if text[width - 1] == " " else room.rpartition(" ")[0]
    return (whole_words.rstrip() or room) + "…"
