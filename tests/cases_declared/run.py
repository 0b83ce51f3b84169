"""Runs a file of cases of declared tools: `python -m tests.cases_declared.run [--as UID] [FILE]`.

Prints the id and the fault of each case that is not right, and last `declared: N of M right`. Started as root the worker
drops to a user of its own for each call; with `--as` everything runs as an ordinary user.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from tests.support.declared_cases import CASES, run_cases
from tests.support.python_commands import other_user


def main() -> int:
    """Run the cases; 0 when all are right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--as", dest="uid", type=int, help="run as this user id; needs root")
    parser.add_argument("file", nargs="?", type=Path, default=CASES, help="cases, one JSON object a line")
    options = parser.parse_args()
    if options.uid is not None:
        with other_user(options.uid) as user:
            return user.run("tests.cases_declared.run", str(user.copy(options.file)))
    # The user of each call has to reach the folders.
    with tempfile.TemporaryDirectory(prefix="toolmesh-declared-", dir="/var/tmp") as folder:
        os.environ["OPENAI_API_KEY"] = "TOPSECRET-123"
        judged = asyncio.run(run_cases(options.file, Path(folder)))
    wrong = {name: faults for name, faults in judged.items() if faults}
    for name, faults in wrong.items():
        sys.stdout.write(f"{name}: {'; '.join(faults)}\n")
    sys.stdout.write(f"declared: {len(judged) - len(wrong)} of {len(judged)} right\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
