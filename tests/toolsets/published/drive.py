"""Runs many tools in one process, each through its own command line: importing the SDK is most of what a call costs.

`drive.py FOLDER`: FOLDER/calls.json lists them as {"tool", "tool_name", "arguments": runner arguments}; each prints a
line of JSON: its schema, or why it has none, and its result file.
"""

# mypy: ignore-errors
# ruff: noqa: BLE001, T201 - a command that prints, of tools that may fail in any way
import contextlib
import io
import json
import os
import sys

import forms
import sets
import text_forms
from sam_tool_sdk import dynamic_tool_cli, provider_cli, tool_cli

MODULES = {"forms": forms, "text_forms": text_forms, "sets": sets}


def main_of(path):
    module, name = path.split(".")
    tool = getattr(MODULES[module], name)
    if module == "sets":
        return (provider_cli if name.endswith("Provider") else dynamic_tool_cli)(tool)
    return tool_cli(tool)


def said(main, *arguments):
    """Runs a command line; returns what it wrote to stdout, or how it failed."""
    sys.argv = ["tool", *arguments]
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            main()
    except SystemExit as end:
        if end.code:
            return f"exit code {end.code}"
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return output.getvalue()


folder = sys.argv[1]
with open(f"{folder}/calls.json") as file:
    calls = json.load(file)
for call in calls:
    main = main_of(call["tool"])
    schema = said(main, "--schema")
    with open(f"{folder}/arguments.json", "w") as file:
        json.dump(call["arguments"], file)
    result = f"{folder}/result.json"
    problem = said(main, f"{folder}/arguments.json")
    content = None
    if os.path.exists(result):
        with open(result) as file:
            content = json.load(file)
        os.unlink(result)
    print("RESULT " + json.dumps({"schema": schema, "problem": problem, "content": content}), flush=True)
