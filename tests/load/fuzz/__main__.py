"""`python -m tests.load.fuzz [--cases N] [--seed S]`: hostile tools and odd input against one real worker.

Its seed is printed first; with the same seed the same cases are run again.
"""

import argparse
import asyncio
import secrets
import sys

from tests.load.fuzz.run import fuzz, report


def main() -> int:
    """Run; 0 when nothing was found."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None)
    asked = parser.parse_args()
    seed = secrets.randbelow(2**31) if asked.seed is None else asked.seed
    print(f"fuzz: seed {seed}", flush=True)
    findings = asyncio.run(fuzz(asked.cases, seed))
    print("\n".join(report(findings)), flush=True)
    return 0 if findings.sound else 1


if __name__ == "__main__":
    sys.exit(main())
