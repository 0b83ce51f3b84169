"""The rows of each room, from the modules of its folder."""

import importlib
from pathlib import Path

from tests.reference.row import Row

__all__ = ["rooms", "rows_of"]

_HERE = Path(__file__).parent


def rooms() -> list[str]:
    """Return the names of the rooms."""
    return sorted(path.name.replace("_", "-") for path in _HERE.iterdir() if any(path.glob("*.py")))


def rows_of(room: str) -> list[Row]:
    """Return a room's rows, section by section."""
    rows: list[Row] = []
    for path in sorted((_HERE / room.replace("-", "_")).glob("*.py")):
        module = importlib.import_module(f"tests.reference.{path.parent.name}.{path.stem}")
        rows += module.ROWS
    return sorted(rows, key=lambda row: [int(part) for part in row.section.split(".")])
