"""Reading what children print."""

import asyncio

from toolmesh_cli.output_lines import lines_of, parse_line


def _stream(*chunks: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    for chunk in chunks:
        reader.feed_data(chunk)
    reader.feed_eof()
    return reader


async def test_lines_come_whole_whatever_the_chunks() -> None:
    """Line ends inside and between chunks give the same lines, and the last needs none."""
    lines = [line async for line in lines_of(_stream(b"one\ntw", b"o\n\nthr", b"ee"))]

    assert lines == [b"one", b"two", b"", b"three"]


async def test_an_endless_line_is_cut_and_the_next_one_is_read() -> None:
    """Memory stays bounded, and the reader finds the next line again."""
    lines = [line async for line in lines_of(_stream(b"x" * 200_000, b"y" * 10, b"\nnext\n"))]

    assert [len(lines[0]), *lines[1:]] == [65_536, b"next"]


def test_a_ready_line_tells_the_health_port() -> None:
    """The event that `up` waits for."""
    line = parse_line(b'{"level": "info", "event": "ready", "health_port": 4711}')

    assert line.is_ready
    assert line.health_port == 4711


def test_plain_text_is_shown_as_it_is_and_never_means_ready() -> None:
    """A traceback, broken UTF-8 and the bare word are only text."""
    assert str(parse_line(b"ValueError: \xff")) == "ValueError: \ufffd"
    assert not parse_line(b"ready").is_ready
    assert str(parse_line(b"[1]")) == "[1]"


def test_an_errors_cause_is_shown_after_the_event() -> None:
    """The lines shown after a failed start say why."""
    line = parse_line(b'{"level": "error", "event": "start_failed", "error": "no bubblewrap"}')

    assert str(line) == "start_failed: no bubblewrap"
