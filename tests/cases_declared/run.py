"""Runs a file of cases of declared tools: `python tests/cases_declared/run.py [--as UID] [FILE]`.

Prints the id and the fault of each case that is not right, and last `declared: N of M right`. Started as root the worker
drops to a user of its own for each call; with `--as` everything runs as an ordinary user.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PLAIN_PYTHON = "/usr/bin/python3"


def main() -> int:
    """Run the cases; 0 when all are right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--as", dest="uid", type=int, help="run as this user id; needs root")
    parser.add_argument("file", nargs="?", type=Path, help="cases, one JSON object a line")
    options = parser.parse_args()
    file = [] if options.file is None else [str(options.file.resolve())]
    if options.uid is not None:
        return _run_as(options.uid, file)
    sys.path.insert(0, str(ROOT))
    from tests.support.declared_cases import CASES, run_cases

    # The user of each call has to reach the folders.
    with tempfile.TemporaryDirectory(prefix="toolmesh-declared-", dir="/var/tmp") as folder:
        os.environ["OPENAI_API_KEY"] = "TOPSECRET-123"
        judged = asyncio.run(run_cases(options.file or CASES, Path(folder)))
    wrong = {name: faults for name, faults in judged.items() if faults}
    for name, faults in wrong.items():
        sys.stdout.write(f"{name}: {'; '.join(faults)}\n")
    sys.stdout.write(f"declared: {len(judged) - len(wrong)} of {len(judged)} right\n")
    return 1 if wrong else 0


def _run_as(uid: int, file: list[str]) -> int:
    """Run this program again as another user."""
    packages = [path for path in sys.path if path.endswith("site-packages")]
    start = (
        f"import runpy, site, sys; [site.addsitedir(path) for path in {packages!r}]; sys.argv = {[__file__, *file]!r}; "
    )
    with tempfile.TemporaryDirectory(prefix="toolmesh-home-", dir="/var/tmp") as home:
        os.chown(home, uid, uid)
        ended = subprocess.run(
            [_python(), "-B", "-S", "-c", f"{start}runpy.run_path(sys.argv[0], run_name='__main__')"],
            user=uid,
            group=uid,
            extra_groups=[],
            cwd="/",
            env={"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
            check=False,
            timeout=170,
        )
    return ended.returncode


def _python() -> str:
    """Return this interpreter, or the system's of the same version where other users can't enter this one's folder."""
    own = Path(sys.executable).resolve()
    return str(own) if all(path.stat().st_mode & 0o001 for path in (own, *own.parents)) else _PLAIN_PYTHON


if __name__ == "__main__":
    sys.exit(main())
