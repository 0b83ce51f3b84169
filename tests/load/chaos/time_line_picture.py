"""Draws a run's time line as a picture."""

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from tests.load.chaos.time_line import TimeLine

__all__ = ["COLOURS", "draw"]

COLOURS = {
    "kill": "#c62828",
    "stop": "#ef6c00",
    "drain": "#f9a825",
    "cut": "#6a1b9a",
    "broker kill": "#1565c0",
    "broker stop": "#0097a7",
    "disk full": "#4e342e",
}
_LEAST_WIDTH_S = 0.4


def draw(line: TimeLine, title: str, path: Path) -> None:
    """Write a PNG: calls by second above, faults by target below, over the same seconds."""
    targets = sorted({span.target for span in line.spans})
    figure = Figure(figsize=(14, 4 + 0.3 * len(targets)), layout="constrained")
    FigureCanvasAgg(figure)
    above: Any
    below: Any
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, max(1.0, 0.35 * len(targets))))
    seconds = range(line.seconds)
    above.plot(seconds, line.accepted, label="accepted a second", color="#2e7d32", linewidth=1)
    above.plot(seconds, line.ended, label="ended a second", color="#37474f", linewidth=1)
    above.plot(seconds, line.in_flight, label="in flight", color="#90a4ae", linewidth=1.5)
    above.set_title(title, loc="left", fontsize=10)
    above.legend(loc="upper right", fontsize=8)
    above.grid(alpha=0.3)
    for kind, colour in COLOURS.items():
        for row, target in enumerate(targets):
            bars = [
                (span.begin, max(span.end - span.begin, _LEAST_WIDTH_S))
                for span in line.spans
                if (span.kind, span.target) == (kind, target)
            ]
            below.broken_barh(bars, (row - 0.4, 0.8), facecolors=colour)
        if any(span.kind == kind for span in line.spans):
            below.plot([], [], color=colour, linewidth=6, label=kind)
    below.set_yticks(range(len(targets)), targets, fontsize=8)
    below.set_xlabel("seconds")
    if line.spans:
        below.legend(loc="upper right", fontsize=7, ncols=4)
    figure.savefig(path, dpi=110)
