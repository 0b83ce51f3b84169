"""Results in every shape that a handler can give, and every way not to give one."""

# mypy: ignore-errors
# ruff: noqa: ICN001, PLW0108, SIM115 - written as people do

import asyncio
import datetime
import decimal
import os
import pathlib
import signal
import sys
import threading
import time
import uuid

from sam_tool_sdk import SandboxToolContextFacade, ToolResult, tool_cli


async def later():
    return "later"


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def stop(problem):
    raise problem


def circular():
    value = {}
    value["self"] = value
    return value


def fork():
    if os.fork() == 0:
        time.sleep(40)
        os._exit(0)
    return "the child goes on"


def thread():
    threading.Thread(target=time.sleep, args=(40,)).start()
    return "the thread goes on"


SHAPES = {
    "ok": lambda: ToolResult.ok("m"),
    "data": lambda: ToolResult.ok("m", data={"a": 1}),
    "error": lambda: ToolResult.error("bad", code="E1", data={"a": 1}),
    "partial": lambda: ToolResult.partial("half", data={"a": 1}),
    "pending": lambda: ToolResult.pending("sure?", data={"hil_request_id": "7"}),
    "auth": lambda: ToolResult.auth_required(),
    "weird": lambda: ToolResult(status="weird", message="m"),
    "message_dict": lambda: ToolResult.ok({"a": 1}),
    "message_list": lambda: ToolResult.ok([1]),
    "unmarked": lambda: {"status": "error", "message": "bad", "data": None, "data_objects": [], "error_code": "E1"},
    "message_none": lambda: ToolResult.ok(None),
    "message_zero": lambda: ToolResult.ok(0),
    "falsy_data": lambda: ToolResult.ok("m", data={}),
    "list_data": lambda: ToolResult.ok("m", data=[1]),
    "none": lambda: None,
    "text": lambda: "plain",
    "number": lambda: 42,
    "truth": lambda: True,
    "bytes": lambda: b"ab",
    "tuple": lambda: (1, 2),
    "list": lambda: [1, 2],
    "dict": lambda: {"a": 1},
    "odd_values": lambda: {
        "when": datetime.date(2026, 1, 2),
        "price": decimal.Decimal("1.50"),
        "id": uuid.UUID(int=1),
        "path": pathlib.Path("/x"),
        "set": {1},
        "raw": b"a",
    },
    "nan": lambda: {"a": float("nan"), "b": float("inf"), "c": 1},
    "surrogate": lambda: {"a": "\ud800"},
    "coroutine": lambda: later(),
    "fork": fork,
    "thread": thread,
    "generator": lambda: (x for x in [1]),
    "tuple_keys": lambda: {(1, 2): 3},
    "circular": circular,
    "exit_0": lambda: sys.exit(0),
    "exit_3": lambda: sys.exit(3),
    "gone": lambda: os._exit(9),
    "interrupt": interrupt,
    "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "cancelled": lambda: stop(asyncio.CancelledError("gone")),
    "base_exception": lambda: stop(BaseException("base")),
    "value_error": lambda: stop(ValueError("bad value")),
    "many_lines": lambda: stop(ValueError("first\nsecond")),
    "recursion": lambda: SHAPES["recursion"](),
    "paths": lambda: open("/opt/toolmesh/toolset/secret-plan.txt"),
}


def shapes(kind: str, ctx: SandboxToolContextFacade):
    """Return or end in some way."""
    return SHAPES[kind]()


cli = tool_cli(shapes)

if __name__ == "__main__":
    cli()
