"""A run's report as one HTML page that needs nothing beside itself."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

from tests.load.chaos.time_line import TimeLine
from tests.load.chaos.time_line_picture import COLOURS

__all__ = ["page"]

_WIDTH = 1200
_HEIGHT = 220
_ROW = 16
_SHOWN = 50
_STYLE = (
    "body{font:14px/1.4 sans-serif;max-width:1240px;margin:24px auto;padding:0 16px;color:#222}"
    "table{border-collapse:collapse;margin:8px 0 24px}td,th{border:1px solid #ccc;padding:3px 9px;text-align:left}"
    "td.n{text-align:right}pre{white-space:pre-wrap;font-size:12px;background:#f6f6f6;padding:8px}"
    ".bad{color:#c62828;font-weight:bold}svg{background:#fafafa;border:1px solid #ddd}"
    ".key span{display:inline-block;width:12px;height:12px;margin:0 4px 0 14px}"
)


def page(figures: dict[str, Any], line: TimeLine) -> str:
    """Return the page."""
    violations = figures["violations"]
    sound = "no promise was broken" if not violations else f"{len(violations)} violations"
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{_e(figures['summary'])}</title>",
        f"<style>{_STYLE}</style><h1>Chaos</h1>",
        f"<p>{_e(figures['summary'])}</p><p class={'bad' if violations else 'good'}>{_e(sound)}</p>",
        f"<p>{_e(', '.join(f'{name} {value}' for name, value in figures['asked'].items()))}</p>",
        "<h2>Time line</h2>",
        _key(),
        _drawing(line),
        "<h2>Stops at steps</h2>",
        _table(
            ("step", "worker dies", "executor dies"),
            ((step, *hits.values()) for step, hits in figures["hits"].items()),
        ),
        "<h2>Calls</h2>",
        _table(("ended as", "calls"), [("ok", figures["succeeded"]), *figures["failed"].items()]),
        _table(("the ending is in", "calls"), figures["ending is in"].items()),
        "<h2>Calls of killed workers</h2>",
        _table(("", ""), figures["calls of killed workers"].items()),
        "<h2>Faults</h2>",
        _table(("kind", "times"), figures["faults by kind"].items()),
    ]
    if violations:
        parts.append("<h2>Violations</h2>")
        parts.append(
            _table(("kind", "call", "what"), ([each["kind"], each["call"], each["text"]] for each in violations))
        )
        for call, told in list(figures["histories"].items())[:_SHOWN]:
            parts.append(f"<h3>{_e(call)}</h3><pre>{_e(_story(told))}</pre>")
    return "\n".join(parts)


def _story(told: dict[str, Any]) -> str:
    """A call's history in the order of time, in seconds since it was offered."""
    began = told["offered_at"]
    events = [(began, f"offered by {told['executor']}, tool {told['tool']}, deadline {told['deadline'] - began:.1f} s")]
    events += [(step["at"], f"{step['program']} ({step['pid']}): {step['step']}") for step in told["steps"]]
    events += [(effect["at"], f"effect of attempt {effect['attempt']}") for effect in told["effects"]]
    events += [(at, "resumed by a successor") for at in told["resumed"]]
    events += [
        (
            result["at"],
            f"result {result['outcome']} {result['code']} of attempt {result['attempt']}: {result['message']}",
        )
        for result in told["results"]
    ]
    for fault in told["faults"]:
        what = f"{fault['kind']} of {fault['target']}" + (f" at {fault['step']}" if fault["step"] else "")
        events.append((fault["at"], f"FAULT {what} begins"))
        events.append((fault["until"] or float("inf"), f"FAULT {what} is over"))
    if told["cancelled_at"]:
        events.append((told["cancelled_at"], "the caller loses interest"))
    lines = [f"{at - began:9.3f}  {what}" for at, what in sorted(events)]
    lines += [f"stored: {told['stored']}", f"ledger: {told['ledger']}", f"in the queue: {told['queued']}"]
    return "\n".join(lines)


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{_e(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: object) -> str:
    return f"<td class=n>{value}</td>" if isinstance(value, int | float) else f"<td>{_e(str(value))}</td>"


def _key() -> str:
    shown = {"accepted a second": "#2e7d32", "ended a second": "#37474f", "in flight": "#90a4ae", **COLOURS}
    marks = "".join(f"<span style='background:{colour}'></span>{_e(name)}" for name, colour in shown.items())
    return f"<p class=key>{marks}</p>"


def _drawing(line: TimeLine) -> str:
    targets = sorted({span.target for span in line.spans})
    height = _HEIGHT + _ROW * len(targets) + 30
    across = _WIDTH / line.seconds
    most = max([1, *line.in_flight, *line.accepted, *line.ended])
    drawn = [f"<svg viewBox='-90 0 {_WIDTH + 100} {height}' width='100%'>"]
    for values, colour in ((line.in_flight, "#90a4ae"), (line.accepted, "#2e7d32"), (line.ended, "#37474f")):
        points = " ".join(
            f"{second * across:.1f},{_HEIGHT - value * (_HEIGHT - 10) / most:.1f}"
            for second, value in enumerate(values)
        )
        drawn.append(f"<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='1.2'/>")
    drawn.append(f"<text x='-8' y='14' text-anchor='end' font-size='11'>{most}</text>")
    for row, target in enumerate(targets):
        top = _HEIGHT + 8 + row * _ROW
        drawn.append(f"<text x='-8' y='{top + 11}' text-anchor='end' font-size='11'>{_e(target)}</text>")
        for span in line.spans:
            if span.target == target:
                width = max((span.end - span.begin) * across, 1.5)
                told = _e(f"{span.kind} of {target}, {span.begin:.1f} to {span.end:.1f} s")
                drawn.append(
                    f"<rect x='{span.begin * across:.1f}' y='{top}' width='{width:.1f}' height='{_ROW - 3}' "
                    f"fill='{COLOURS[span.kind]}'><title>{told}</title></rect>"
                )
    every = max(1, round(line.seconds / 12))
    scale = (
        f"<text x='{second * across:.0f}' y='{height - 4}' font-size='11'>{second} s</text>"
        for second in range(0, line.seconds, every)
    )
    return "".join([*drawn, *scale, "</svg>"])


def _e(text: str) -> str:
    return html.escape(text, quote=True)
