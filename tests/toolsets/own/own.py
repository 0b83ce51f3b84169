"""Tools of our SDK that show callers, one by one, what the contract's rows are about."""

# mypy: ignore-errors
# ruff: noqa: F401, ICN001, S307, S102, PTH, SIM115 - tools that do what they are told
import asyncio
import datetime
import decimal
import importlib
import json
import logging
import os
import pathlib
import sys
import time
import uuid

from toolmesh_sdk import (
    Artifact,
    DataDisposition,
    DataObject,
    DynamicToolProvider,
    ToolContext,
    ToolError,
    ToolResult,
    provider_cli,
)
from toolmesh_sdk.model_descriptor import open_connection


class Own(DynamicToolProvider):
    """See the functions."""

    def create_tools(self, tool_config=None):
        return []


async def later():
    return "later"


def stop(problem):
    raise problem


def nan():
    return float("nan")


@Own.register_tool
def give(expression: str):
    """Return what an expression makes."""
    return eval(expression)


@Own.register_tool
async def give_later(expression: str):
    """Return what an expression makes, in an event loop."""
    return eval(expression)


@Own.register_tool
def leave(statement: str):
    """Do something in the call's folder, and say that it is done."""
    os.makedirs("output", exist_ok=True)
    exec(statement, globals())
    return "done"


@Own.register_tool
def who(ctx: ToolContext):
    """Tell who calls, and what the arguments file says."""
    with open(sys.argv[1], "rb") as file:
        raw = file.read()
    arguments = json.loads(raw)
    return {
        "told": [ctx.user_id, ctx.session_id, ctx.app_name, ctx.task_id, ctx.user_profile.get("id")],
        "volumes": len(ctx.volume_mounts),
        "mark": raw.startswith(b"\xef\xbb\xbf"),
        "nulls": [name for name, value in arguments.items() if value is None],
        "names": sorted(arguments),
        "mode": oct(os.stat(sys.argv[1]).st_mode & 0o777),
        "made": os.listdir(arguments["output_dir"]),
    }


@Own.register_tool
def files(ctx: ToolContext, one: Artifact, two: Artifact, more: list[Artifact]):
    """Read what came along in every way, and what did not."""
    try:
        gone = ctx.read_artifact("gone.txt").as_text()
    except FileNotFoundError as problem:
        gone = str(problem)
    return {
        "texts": [one.as_text(), two.as_text(), *(file.as_text() for file in more)],
        "metadata": [one.metadata, two.metadata],
        "listed": sorted(asyncio.run(ctx.list_artifacts())),
        "read": ctx.read_artifact("more.txt").as_text(),
        "gone": gone,
    }


@Own.register_tool
def keep(ctx: ToolContext):
    """Store files with what a bare file can't say."""
    ctx.save_artifact("deep/chart.dat", b"\x00", "image/x-chart", description="a chart", metadata={"w": 3})
    stored = DataDisposition.ARTIFACT
    objects = [
        DataObject("same.txt", "1", "text/x-one", stored),
        DataObject("same.txt", "2", "text/x-two", stored),
        DataObject("../up.txt", "evil", "text/plain", stored),
        DataObject("preview.csv", "a,b", "text/csv", DataDisposition.ARTIFACT_WITH_PREVIEW, "a table", "a"),
        DataObject("short.txt", "short", "text/plain", DataDisposition.AUTO),
        DataObject("long.txt", "x" * 5000, "text/plain", DataDisposition.AUTO),
        DataObject("raw.bin", b"\xff", "application/octet-stream", DataDisposition.AUTO),
        DataObject("inline.txt", "here", "text/plain", DataDisposition.INLINE),
        DataObject("odd.txt", "kept", "text/plain", "whatever"),
        DataObject("none.txt", None, "text/plain", stored),
    ]
    return ToolResult.ok("kept", data_objects=objects)


@Own.register_tool
def tell(ctx: ToolContext):
    """Send statuses of every kind."""
    messages = [{"no": "text"}, object, "é\nlast", "x" * 20_000, *range(500), "the end"]
    return {"taken": [ctx.send_status(message) for message in messages].count(False) == 0}


@Own.register_tool
async def ask(ctx: ToolContext, question: str):
    """Ask the model, while something else goes on in the loop."""
    steps = []

    async def step():
        while True:
            steps.append(1)
            await asyncio.sleep(0.01)

    stepping = asyncio.create_task(step())
    answer = await ctx.call_llm_async("be short", question)
    stepping.cancel()
    return {"answer": answer[-40:], "length": len(answer), "went_on": len(steps) > 1}


@Own.register_tool
def stay(ctx: ToolContext):
    """Wait until stopped, and put things away then."""
    try:
        ctx.send_status("waiting")
        time.sleep(50)
    finally:
        ctx.send_status("put away")
        ctx.save_artifact("stopped.txt", "by hand", "text/plain")


@Own.register_tool
def log_something(fail: bool):
    """Log, and end well or not."""
    logging.getLogger("mine").warning("a line of the tool's own log")
    return ToolResult.error("see the log") if fail else ToolResult.ok("see the log")


@Own.register_tool
def speak(lines: list[str]):
    """Say lines to the model's side, and tell what comes back for each."""
    with open(sys.argv[1]) as file:
        address = json.load(file)["ipc_socket"]
    with open_connection(address, 20) as connection:
        reader = connection.makefile("r")
        answers = []
        for line in lines:
            connection.sendall(line.encode() + b"\n")
            answers.append(json.loads(reader.readline()))
    return {"answers": answers}


@Own.register_tool
def modules(names: list[str], beneath: list[str]):
    """Load the SDK's names under its other name."""
    package, own = importlib.import_module("sam_tool_sdk"), importlib.import_module("toolmesh_sdk")
    missing = [name for name in names if getattr(package, name, None) is not getattr(own, name, 0)]
    for module in beneath:
        importlib.import_module(f"sam_tool_sdk.{module}")
    return {"missing": missing}


cli = provider_cli(Own)

if __name__ == "__main__":
    cli()
