"""Start a Python tool with the SDK within reach: `PYTHON launch.py SCRIPT ARGUMENTS...`.

The script runs as `__main__`, its own folder first on the path. The SDK, and the alias package under the name that
published tools import, come last, so that what a toolset brings along wins.
"""

from __future__ import annotations

import sys
from _frozen_importlib_external import SourceFileLoader  # importlib.machinery without its Python half


def run_script(script: str, arguments: list[str]) -> None:
    """Run a tool's script as the main program.

    Raises:
        OSError: The script cannot be read.
    """
    package = __file__.rpartition("/")[0] or "."
    # The folder of this file holds the SDK's modules: on the path they would hide others of the same name.
    sys.path[:] = [entry for entry in sys.path if entry != package]
    sys.path.insert(0, script.rpartition("/")[0] or ".")
    sys.path += [package.rpartition("/")[0] or "..", f"{package}/compat"]
    sys.argv = [script, *arguments]
    # This loader uses compiled code where there is any; `runpy` would not, and costs more.
    code = SourceFileLoader("__main__", script).get_code("__main__")
    main = type(sys)("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    exec(code, main.__dict__)  # type: ignore[arg-type]  # noqa: S102 - running the tool is what this file is for


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit("usage: launch.py SCRIPT ARGUMENTS...")
    run_script(sys.argv[1], sys.argv[2:])
