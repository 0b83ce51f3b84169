#!/usr/bin/python3 -IS
"""Two tools of one program by the process contract: each appends one line to a file, in one write."""

import json
import os
import sys
import time

_EFFECTS = "/effects/effects.log"
_PARAMETERS = {
    "type": "object",
    "properties": {
        "before": {"type": "number", "description": "Seconds before the effect."},
        "after": {"type": "number", "description": "Seconds between the effect and the end."},
        "fail": {"type": "boolean", "description": "Whether to end with an error, after the effect."},
        "bytes": {"type": "integer", "description": "Size of the result."},
    },
}


def describe() -> None:
    """Print what the tools take."""
    once = {"description": "Do it, once only.", "parameters": _PARAMETERS}
    again = {"description": "Do it; again does no harm.", "parameters": _PARAMETERS}
    json.dump({"tools": {"once": once, "again": again}}, sys.stdout)


def run(path: str) -> None:
    """Have the effect."""
    with open(path, encoding="utf-8") as file:
        call = json.load(file)
    wanted = call["args"]
    time.sleep(wanted.get("before", 0))
    line = f"{call['invocation_id']} {call['attempt']} {os.getpid()} {time.time_ns()}\n"
    effects = os.open(_EFFECTS, os.O_WRONLY | os.O_APPEND)
    os.write(effects, line.encode())
    time.sleep(wanted.get("after", 0))
    failed = bool(wanted.get("fail"))
    result = {
        "_schema": "ToolResult",
        "_schema_version": "1.0",
        "status": "error" if failed else "success",
        "message": "failed as asked" if failed else "done",
        "error_code": "AS_ASKED" if failed else None,
        "data": {"attempt": call["attempt"], "filling": "x" * wanted.get("bytes", 0)},
    }
    with open(call["result_file"], "w", encoding="utf-8") as file:
        json.dump({"result": result, "error": ""}, file)


if __name__ == "__main__":
    if sys.argv[1] == "--schema":
        describe()
    else:
        run(sys.argv[1])
