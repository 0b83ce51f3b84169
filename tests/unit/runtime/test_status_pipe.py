"""Statuses arrive whole and in order, whatever the tool writes into the FIFO."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_runtime.process.status_pipe import StatusLines, status_pipe


def line(text: object) -> bytes:
    return json.dumps({"status": text}).encode() + b"\n"


@given(st.lists(st.text(max_size=30), max_size=8), st.integers(1, 40))
@pytest.mark.requirement("process:status")
def test_cut_reads_give_the_same_texts(texts: list[str], size: int) -> None:
    """Where the kernel cuts the bytes makes no difference."""
    data = b"".join(line(text) for text in texts)
    lines = StatusLines()
    received = [
        text for start in range(0, len(data), size) for text, _progress in lines.feed(data[start : start + size])
    ]
    assert received == [text.encode(errors="replace").decode() for text in texts]


def test_noise_is_dropped_and_a_glued_line_is_kept() -> None:
    """A cut line with a whole one behind it costs only the cut one."""
    data = b"noise\n" + b'{"status": "cut off' + line("whole") + b"[]\n{}\n\xff\xfe\n" + line({"done": 3})
    assert StatusLines().feed(data) == [("whole", None), ('{"done": 3}', None)]


def test_endless_line_is_bounded() -> None:
    """A line without end is dropped up to its end, and the next one arrives."""
    lines = StatusLines()
    for _ in range(100):
        assert lines.feed(b"x" * 65_536) == []
    assert lines.feed(b"\n" + line("next")) == [("next", None)]


def test_only_the_end_of_a_flood_is_read() -> None:
    """Of thousands of lines in one piece the last ones are told, the last of all among them."""
    told = StatusLines().feed(b"".join(line(number) for number in range(10_000)))
    assert len(told) == 4096
    assert told[-1] == ("9999", None)


@pytest.mark.requirement("process:status")
async def test_writer_never_meets_a_pipe_without_reader(tmp_path: Path) -> None:
    """The FIFO takes lines from before the tool opens it until after it has closed it, and loses none at the end."""
    received: list[str] = []
    pipe = tmp_path / "status.pipe"
    os.mkfifo(pipe)
    with status_pipe(pipe, lambda text, _progress: received.append(text)):
        for number in range(200):
            descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            os.write(descriptor, line(f"step {number}"))
            os.close(descriptor)
            if number % 50 == 0:
                await asyncio.sleep(0)
    assert received == [f"step {number}" for number in range(200)]


@pytest.mark.parametrize(
    ("progress", "told"),
    [(0.25, 0.25), (1, 1.0), (0, 0.0), (1.5, None), (-1, None), (True, None), ("half", None), (float("nan"), None)],
)
def test_progress_is_a_part_or_nothing(progress: object, told: float | None) -> None:
    """A tool may write anything; only a number from 0 to 1 is a progress."""
    data = json.dumps({"status": "x", "progress": progress}).encode() + b"\n"
    assert StatusLines().feed(data) == [("x", told)]
