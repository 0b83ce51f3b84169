"""Writes a run's report: chaos.json, chaos.html and chaos.png."""

import json
from pathlib import Path
from typing import Any

from tests.load.chaos.history import History
from tests.load.chaos.page import page
from tests.load.chaos.time_line import time_line
from tests.load.chaos.time_line_picture import draw

__all__ = ["write_report"]


def write_report(folder: Path, history: History, figures: dict[str, Any]) -> None:
    """Write the three files into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    line = time_line(history)
    (folder / "chaos.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    (folder / "chaos.html").write_text(page(figures, line), encoding="utf-8")
    draw(line, figures["summary"], folder / "chaos.png")
