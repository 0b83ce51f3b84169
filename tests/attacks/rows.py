"""The rows of an attack file, read by their fields alone."""

import json
from pathlib import Path
from typing import Any

GIVEN = Path(__file__).with_name("sandbox-attacks.jsonl")
_FIELDS = {
    *("id", "category", "title", "profile", "kind", "attempt", "code", "expected", "mechanism", "host_check"),
    *("host_check_note", "timeout", "lim", "stdin_mb", "severity", "needs"),
}
Row = dict[str, Any]


def read_rows(file: Path) -> list[Row]:
    """All rows; a field or kind that is not known is an error, as it could change what a row means."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    for row in rows:
        unknown = set(row) - _FIELDS
        if unknown or row["kind"] not in {"tool", "positive", "host"} or row["profile"] not in {"contract", "any"}:
            raise ValueError(f"row {row.get('id')}: unknown fields {sorted(unknown)}, kind or profile")
    return rows


def with_code(rows: list[Row]) -> list[Row]:
    """Those that run in the sandbox."""
    return [row for row in rows if row["kind"] != "host"]
