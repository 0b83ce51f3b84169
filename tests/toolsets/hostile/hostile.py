#!/usr/bin/python3 -IS
"""Executes the pieces of code that a call brings along, one after another; only ever inside a sandbox."""

import json
import os
import sys

PROFILES = ("standard", "restrictive", "permissive")


def describe() -> None:
    """Print what `--schema` asks for."""
    tool = {"description": "Misbehave as told.", "parameters": {"type": "object"}}
    json.dump({"tools": {f"hostile_{profile}": tool for profile in PROFILES}}, sys.stdout)


def misbehave() -> None:
    """Read the call as a tool of a manifest or as a declared one gets it, and obey."""
    if len(sys.argv) > 1:
        with open(sys.argv[1], encoding="utf-8") as file:
            call = json.load(file)
        blocks = call["args"]["blocks"]
        names = {"RESULT": call["result_file"], "STATUS": call["status_pipe"], "OUTPUT": call["output_dir"]}
    else:
        blocks = json.load(sys.stdin)["blocks"]
        work = os.environ["HOME"]
        names = {
            "RESULT": f"{work}/result.json",
            "STATUS": f"{work}/status.pipe",
            "OUTPUT": os.environ["VESSEL_OUTBOX"],
        }
        os.chdir(work)
    *first, last = blocks
    for block in first:
        try:
            exec(block, dict(names))  # noqa: S102 - what this program is for
        except Exception as error:  # noqa: BLE001 - what one piece is refused must not keep the next from trying
            sys.stderr.write(f"{error!r}\n")
    exec(last, dict(names))  # noqa: S102 - how it ends; an ending that is refused is a failure


if __name__ == "__main__":
    if sys.argv[1:2] == ["--schema"]:
        describe()
    else:
        misbehave()
