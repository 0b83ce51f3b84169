"""What our launcher adds to a cold call: CPU time of the example tool with it and without it, interleaved.

Prints both medians and, as the last line, `cold-call: R x` (the ratio of the medians). Run by `make sdk-cost`.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SDK = ROOT / "libs" / "tool-sdk" / "src"
TOOL = ROOT / "examples" / "weather" / "weather.py"
PYTHON = "/usr/bin/python3"
ROUNDS = 25


def cpu_ms(command: list[str], folder: Path) -> float:
    """User and system time of one run, in milliseconds."""
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": str(SDK)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> int:
    """Measure and print; 1 if the ratio is over the promised 1.15."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = folder / "runner_args.json"
        arguments.write_text(
            json.dumps(
                {
                    "tool_name": "weather",
                    "args": {"city": "Oslo"},
                    "result_file": str(folder / "result.json"),
                    "output_dir": str(folder),
                }
            )
        )
        plain = [PYTHON, str(TOOL), str(arguments)]
        launched = [PYTHON, str(SDK / "toolmesh_sdk" / "launch.py"), str(TOOL), str(arguments)]
        times: dict[str, list[float]] = {"without": [], "with": []}
        for _ in range(ROUNDS):
            times["without"].append(cpu_ms(plain, folder))
            times["with"].append(cpu_ms(launched, folder))
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians["with"] / medians["without"]
    print(
        f"{medians['without']:.1f} ms without the launcher, {medians['with']:.1f} ms with it (CPU, median of {ROUNDS})"
    )
    print(f"cold-call: {ratio:.2f} x")
    return 1 if ratio > 1.15 else 0


if __name__ == "__main__":
    sys.exit(main())
