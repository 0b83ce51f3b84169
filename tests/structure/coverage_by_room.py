"""Prints the coverage of each room and fails where a promised figure is not reached: `make cover` runs this."""

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

PROMISED_PERCENT = {"libs/broker": 90.0, "libs/contracts": 90.0, "libs/identity": 90.0}


def room_of(path: str) -> str:
    """The room that a source file belongs to, such as `libs/broker`."""
    parts = Path(path).parts
    place = next((index for index, part in enumerate(parts) if part in {"libs", "services"}), None)
    return path if place is None else "/".join(parts[place : place + 2])


def measured() -> dict[str, tuple[int, int]]:
    """Covered and all lines and branches of each room."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        coverage = [sys.executable, "-m", "coverage"]
        subprocess.run([*coverage, "combine", "--quiet"], check=False, capture_output=True)
        subprocess.run([*coverage, "json", "--quiet", "-o", str(report)], check=True)
        files = json.loads(report.read_text(encoding="utf-8"))["files"]
    rooms: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for path, entry in files.items():
        summary = entry["summary"]
        covered, total = rooms[room_of(path)]
        rooms[room_of(path)] = (
            covered + summary["covered_lines"] + summary["covered_branches"],
            total + summary["num_statements"] + summary["num_branches"],
        )
    return rooms


def main() -> int:
    """Print the table and a last line; return the exit code."""
    low = []
    for room, (covered, total) in sorted(measured().items()):
        percent = 100 * covered / max(total, 1)
        promised = PROMISED_PERCENT.get(room)
        print(f"{room:32} {percent:5.1f} %" + (f"  (promised {promised:.0f} %)" if promised else ""))
        if promised and percent < promised:
            low.append(room)
    print(f"cover: too low in {', '.join(low)}" if low else "cover: ok")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
