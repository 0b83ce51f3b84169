"""Runs every form of a tool under every release of the published SDK, repaired and strict, and counts what fits."""

import sys
import tempfile
from pathlib import Path

from tests.support.published_forms import answers, expected, surprises
from tests.support.published_sdk import RELEASES


def main() -> int:
    """Print one line for each tool that surprises, and the count."""
    total, wrong = 0, []
    for release in RELEASES:
        for strict in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                told = answers(release, Path(folder), strict=strict)
            total += len(expected(release, strict=strict))
            wrong += surprises(release, told, strict=strict)
    for line in wrong:
        print(line)
    print(f"sam-tools: {total - len(wrong)} of {total} behave as documented")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
