"""Status lines through a real FIFO: whole, in order, and without stalling a tool whose host does not read."""

import json
import os
import threading
import time
from pathlib import Path

from tests.support.tool_process import ToolProcess

from toolmesh_sdk.status_channel import StatusChannel

SENDER = """
    from toolmesh_sdk import ToolContext, tool_cli

    def send(count: int, size: int, ctx: ToolContext):
        "Send messages and say how many were taken."
        return str(sum(ctx.send_status(f"{number} " + "x" * size) for number in range(count)))

    tool_cli(send)()
"""


def read_slowly(descriptor: int, into: list[bytes], until: threading.Event) -> None:
    """Drain a FIFO in small reads, as a busy host would, until told and empty."""
    while True:
        try:
            part = os.read(descriptor, 1500)
        except BlockingIOError:
            if until.is_set():
                return
            time.sleep(0.001)
            continue
        if part:
            into.append(part)


def test_a_flood_and_long_lines_arrive_whole_and_in_order(tool: ToolProcess) -> None:
    """The published SDK lost two thirds of such a flood and glued torn lines together."""
    fifo = tool.folder / "fifo"
    os.mkfifo(fifo)
    tool.write(SENDER)
    for count, size in ((1000, 900), (40, 20_000)):
        descriptor = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        parts: list[bytes] = []
        done = threading.Event()
        reader = threading.Thread(target=read_slowly, args=(descriptor, parts, done))
        reader.start()
        try:
            outcome = tool.call({"count": count, "size": size}, status_pipe=str(fifo))
        finally:
            done.set()
            reader.join()
            os.close(descriptor)
        texts = [json.loads(line)["status"] for line in b"".join(parts).splitlines()]
        assert texts == [f"{number} " + "x" * size for number in range(count)]
        assert outcome.result["text"] == str(count)


def test_a_host_without_a_reader_costs_one_short_wait_and_not_one_per_message(tool: ToolProcess) -> None:
    """A thousand messages with no reader: each says no, and the call still ends at once."""
    os.mkfifo(tool.folder / "fifo")
    tool.write(SENDER)
    assert tool.call({"count": 1000, "size": 1}, status_pipe=str(tool.folder / "fifo")).result["text"] == "0"
    assert tool.call({"count": 3, "size": 1}, status_pipe="/nowhere/fifo").result["text"] == "0"
    assert tool.call({"count": 3, "size": 1}, status_pipe="").result["text"] == "0"


def test_a_torn_line_is_finished_before_the_next_one(tmp_path: Path) -> None:
    """A line longer than the room left is begun; the next call completes it first, so that neither is lost."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    descriptor = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        channel = StatusChannel(str(fifo), write_wait_s=0.05)
        long = {"status": "y" * 100_000}
        assert channel.send(long) is False
        assert channel.send({"status": "dropped, the FIFO is still full"}) is False
        drained = os.read(descriptor, 1 << 20)
        assert channel.send({"status": "short"}) is True
        channel.close()
        drained += os.read(descriptor, 1 << 20)
    finally:
        os.close(descriptor)
    assert [json.loads(line) for line in drained.splitlines()] == [long, {"status": "short"}]


def test_a_line_that_was_not_begun_is_dropped_whole(tmp_path: Path) -> None:
    """Status may be lost when nobody reads, but never in part."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    descriptor = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        channel = StatusChannel(str(fifo), write_wait_s=0.02)
        taken = [channel.send({"status": f"{number}" + "z" * 4000}) for number in range(20)]
        channel.close()
        lines = os.read(descriptor, 1 << 20).splitlines()
    finally:
        os.close(descriptor)
    assert len(lines) == sum(taken) < 20
    assert all(json.loads(line) for line in lines)


def test_a_reader_that_left_may_come_back(tmp_path: Path) -> None:
    """The channel opens anew after a broken pipe."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    channel = StatusChannel(str(fifo))
    first = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    assert channel.send({"status": "one"}) is True
    os.close(first)
    assert channel.send({"status": "nobody is there"}) is False
    second = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert channel.send({"status": "two"}) is True
        assert json.loads(os.read(second, 100)) == {"status": "two"}
    finally:
        os.close(second)
        channel.close()


def test_messages_are_text_and_progress_carries_a_fraction(tool: ToolProcess) -> None:
    """Line breaks and other alphabets are escaped; what is no text becomes some."""
    tool.write(
        """
        from toolmesh_sdk import tool_cli

        async def send(ctx=None):
            "Send some."
            return [ctx.send_status("two\\nlines å"), ctx.send_status({"a": 1}), ctx.send_status(7),
                    ctx.send_status({1}), ctx.send_progress(0.5), ctx.send_progress(7, "done")]

        tool_cli(send)()
        """
    )
    outcome = tool.call()
    assert outcome.result["text"] == "[true, true, true, true, true, true]"
    assert outcome.statuses == ["two\nlines å", '{"a": 1}', "7", "{1}", "50%", "done"]
    lines = (tool.folder / "status").read_text().splitlines()
    assert json.loads(lines[4]) == {"status": "50%", "progress": 0.5}
    assert json.loads(lines[5])["progress"] == 1.0
    assert all(line.isascii() for line in lines)
