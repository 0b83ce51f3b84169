"""Pipes are read to their end, fed without blocking, and closed."""

import asyncio
import os

import pytest

from toolmesh_sandbox.pipes import Capture, feed


def pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    return reading, writing


def test_a_capture_keeps_the_head_and_counts_the_rest() -> None:
    """Across pieces that straddle the cap."""
    capture = Capture(5)
    for piece in (b"abc", b"def", b"ghi"):
        capture.add(piece)
    assert (capture.kept, capture.dropped) == (b"abcde", 4)


async def test_what_is_fed_arrives_whole_through_a_full_pipe() -> None:
    """Three megabytes, far more than a pipe holds."""
    reading, writing = pipe()
    data = os.urandom(3 << 20)
    capture = Capture(len(data))
    await asyncio.gather(feed(writing, data), capture.read(reading))
    assert capture.kept == data


async def test_a_reader_that_goes_away_ends_the_feeding() -> None:
    """At once, and later in the middle."""
    reading, writing = pipe()
    os.close(reading)
    await feed(writing, b"x")
    reading, writing = pipe()
    feeding = asyncio.create_task(feed(writing, bytes(1 << 20)))
    await asyncio.sleep(0)
    os.close(reading)
    async with asyncio.timeout(10):
        await feeding


async def test_a_cancelled_reader_closes_its_end() -> None:
    """The writer sees a broken pipe instead of waiting for ever."""
    reading, writing = pipe()
    capture = Capture(10)
    task = asyncio.create_task(capture.read(reading))
    os.write(writing, b"abc")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert capture.kept == b"abc"
    with pytest.raises(BrokenPipeError):
        os.write(writing, b"x")
    os.close(writing)
