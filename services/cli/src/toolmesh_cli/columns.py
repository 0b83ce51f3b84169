"""Rows of text as aligned columns."""

from collections.abc import Sequence

__all__ = ["table"]


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return one line for each row, each column as wide as its widest cell; at least one row is needed."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
