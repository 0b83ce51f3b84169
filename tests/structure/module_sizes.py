"""Refuses modules that have grown past what a reader takes in: `make lint` runs this."""

import ast
import statistics
import subprocess
import sys
from pathlib import Path

HARD_LIMIT = 600
SOFT_LIMIT = 400
TEST_LIMIT = 800
FUNCTION_LIMIT = 60
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base_utils"}


def python_files() -> list[Path]:
    """The Python files that git knows or would take."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [Path(line) for line in listing.stdout.splitlines() if Path(line).is_file()]


def long_functions(path: Path) -> list[str]:
    """Functions of a module that are longer than a screen."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            size = node.end_lineno - node.lineno + 1
            if size > FUNCTION_LIMIT:
                found.append(f"{path}:{node.lineno}: function {node.name} has {size} lines, at most {FUNCTION_LIMIT}")
    return found


def main() -> int:
    """Print each fault and a last line with the median; return the exit code."""
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}
    product = {path: size for path, size in sizes.items() if path.parts[0] in {"libs", "services"}}
    faults = [fault for path in product for fault in long_functions(path)]
    for path, size in sizes.items():
        limit = HARD_LIMIT if path in product else TEST_LIMIT
        if size > limit:
            faults.append(f"{path}: {size} lines, at most {limit}: split it by what it does")
        if path.stem in VAGUE_NAMES:
            faults.append(f"{path}: the name says nothing; name it after what it does")
    for path, size in sorted(product.items(), key=lambda item: -item[1]):
        if size > SOFT_LIMIT:
            print(f"note: {path}: {size} lines, over the soft limit of {SOFT_LIMIT}")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(
        f"modules: {len(product)}, median {statistics.median(product.values()):.0f} lines, longest {max(product.values())}"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
