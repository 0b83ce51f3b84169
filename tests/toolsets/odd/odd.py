"""Tools that behave in every way a worker must bear."""

import json
import os
import signal
import sys
import threading
import time
from typing import Any

from toolmesh_sdk import (
    Artifact,
    DataDisposition,
    DataObject,
    DynamicToolProvider,
    ToolContext,
    ToolResult,
    provider_cli,
)


class Odd(DynamicToolProvider):
    """See the functions."""

    def create_tools(self, tool_config: dict[str, Any] | None = None) -> list[Any]:
        return []


@Odd.register_tool
def measure(self: Odd, text: str) -> dict[str, Any]:
    """Tell how long a text is."""
    return {"characters": len(text), "last": text[-3:]}


@Odd.register_tool
def large_result(self: Odd, megabytes: int) -> dict[str, Any]:
    """Return many bytes."""
    return {"text": "x" * (megabytes * 1024 * 1024)}


@Odd.register_tool
def large_artifact(self: Odd, megabytes: int) -> ToolResult:
    """Leave a large file."""
    block = bytes(range(256)) * 4096
    with open("output/large.bin", "wb") as file:
        for _ in range(megabytes):
            file.write(block)
    return ToolResult.ok("done")


@Odd.register_tool
def nothing(self: Odd) -> None:
    """Return nothing."""


@Odd.register_tool
def not_a_number(self: Odd) -> None:
    """Write numbers that JSON has not, as older SDKs do, and end without a word."""
    with open("result.json", "w") as file:
        file.write('{"result": {"a": NaN, "b": [-Infinity, 1.5]}, "error": ""}')
    os._exit(0)


@Odd.register_tool
def broken_text(self: Odd) -> None:
    """Write a result that is not UTF-8, and end without a word."""
    with open("result.json", "wb") as file:
        file.write(b'{"result": {"text": "caf\xe9"}, "error": ""}')
    os._exit(0)


def _slowly(ctx: ToolContext, seconds: float) -> ToolResult:
    end = time.monotonic() + seconds
    step = 0
    while time.monotonic() < end:
        step += 1
        ctx.send_status(f"step {step}")
        time.sleep(0.2)
    return ToolResult.ok("at last")


@Odd.register_tool
def slow(self: Odd, seconds: float, ctx: ToolContext) -> ToolResult:
    """Take its time, with statuses."""
    return _slowly(ctx, seconds)


@Odd.register_tool
def slow_idempotent(self: Odd, seconds: float, ctx: ToolContext) -> ToolResult:
    """Take its time, and bear being run twice."""
    return _slowly(ctx, seconds)


@Odd.register_tool
def too_slow(self: Odd) -> None:
    """Run past its limit."""
    time.sleep(30)


@Odd.register_tool
def crash(self: Odd) -> None:
    """Die by a signal."""
    os.kill(os.getpid(), signal.SIGSEGV)


@Odd.register_tool
def leave(self: Odd) -> None:
    """End without a result."""
    sys.stderr.write("gone fishing\n")
    sys.stderr.flush()
    os._exit(3)


@Odd.register_tool
def fail(self: Odd, ctx: ToolContext) -> None:
    """Raise an error that quotes its own secret."""
    raise RuntimeError(f"can't reach {ctx.get_config('url')}")


@Odd.register_tool
def tell(self: Odd, ctx: ToolContext) -> dict[str, Any]:
    """Say its whole configuration, everywhere it can."""
    config = {key: ctx.get_config(key) for key in ("url", "units")}
    ctx.send_status(f"using {config['url']}")
    sys.stderr.write(json.dumps(config))
    return {"config": config}


@Odd.register_tool
def linger(self: Odd) -> ToolResult:
    """Return at once, and leave a thread behind."""
    threading.Thread(target=time.sleep, args=(40,)).start()
    return ToolResult.ok("returned")


@Odd.register_tool
def read_back(self: Odd, document: Artifact) -> ToolResult:
    """Give an artifact back with its words in upper case."""
    text = document.as_text().upper()
    return ToolResult.ok(
        f"{len(text)}", data_objects=[DataObject("upper.txt", text, "text/plain", DataDisposition.ARTIFACT, "louder")]
    )


@Odd.register_tool
def guarded(self: Odd) -> str:
    """Do what not everybody may."""
    return "done"


@Odd.register_tool
def environment(self: Odd) -> dict[str, Any]:
    """Say what the process sees of its surroundings."""
    return {"values": dict(os.environ), "uid": os.getuid(), "home": os.listdir(os.environ["HOME"])}


cli = provider_cli(Odd)

if __name__ == "__main__":
    cli()
