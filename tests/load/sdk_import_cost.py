"""Measure what the SDK adds to the bare interpreter: CPU of importing it, and of a whole call of a small tool.

Run it with the interpreter that tools use. The last line is `sdk-cost: N ms`, the median of five for the import of the
names that a function tool takes.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 5
RUNS_PER_ROUND = 6
SDK = Path(__file__).parents[2] / "libs/tool-sdk/src"
IMPORTS = "from toolmesh_sdk import SandboxToolContextFacade, ToolResult, tool_cli"
TOOL = f"""{IMPORTS}

def greet(name: str, ctx: SandboxToolContextFacade) -> ToolResult:
    ctx.send_status("greeting")
    return ToolResult.ok(f"Hello {{name}}")

cli = tool_cli(greet)
if __name__ == "__main__":
    cli()
"""


def cpu_ms(argv: list[str], environment: dict[str, str]) -> float:
    """Return user and system time of one child process in milliseconds, the least of some runs."""
    times = []
    for _ in range(RUNS_PER_ROUND):
        process = subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{argv} ended with {process.returncode}")
        times.append((usage.ru_utime + usage.ru_stime) * 1000)
    return min(times)


def above_bare(argv: list[str], bare: list[str], environment: dict[str, str]) -> float:
    """Return the median over the rounds of what `argv` costs above `bare`, measured side by side."""
    return statistics.median(cpu_ms(argv, environment) - cpu_ms(bare, environment) for _ in range(ROUNDS))


def main() -> None:
    """Print both figures."""
    python = sys.argv[1] if len(sys.argv) > 1 else "/usr/bin/python3"
    environment = {"PYTHONPATH": str(SDK), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "greet.py")
        script.write_text(TOOL)
        arguments = Path(folder, "arguments.json")
        files = {"result_file": f"{folder}/result.json", "output_dir": folder}
        arguments.write_text(json.dumps({"args": {"name": "Ada"}, **files}))
        bare = [python, "-c", "pass"]
        launched = [python, str(SDK / "toolmesh_sdk/launch.py"), str(script), str(arguments)]
        call = above_bare(launched, bare, environment)
        imported = above_bare([python, "-c", IMPORTS], bare, environment)
    print(f"whole call of a function tool: {call:.1f} ms above {python}")
    print(f"sdk-cost: {imported:.1f} ms")


if __name__ == "__main__":
    main()
