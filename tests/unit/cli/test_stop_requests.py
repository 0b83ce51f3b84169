"""Signals that ask for an end, sent to this process."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator

import pytest

from toolmesh_cli.stop_requests import stop_requests


async def _heard(*numbers: signal.Signals) -> list[str]:
    heard: list[str] = []
    with stop_requests(first=lambda: heard.append("first"), again=lambda: heard.append("again")):
        for number in numbers:
            os.kill(os.getpid(), number)
            for _ in range(3):
                await asyncio.sleep(0)
    return heard


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((signal.SIGINT,), ["first"]),
        ((signal.SIGHUP,), ["first"]),
        ((signal.SIGTERM, signal.SIGINT, signal.SIGINT), ["first", "again", "again"]),
        ((signal.SIGHUP, signal.SIGHUP), ["first"]),
        ((signal.SIGINT, signal.SIGHUP), ["first"]),
        ((signal.SIGHUP, signal.SIGINT), ["first", "again"]),
    ],
)
async def test_the_first_signal_asks_and_a_later_one_insists(
    numbers: tuple[signal.Signals, ...], expected: list[str]
) -> None:
    """But a closed terminal, which is told twice, never insists."""
    assert await _heard(*numbers) == expected


@contextlib.contextmanager
def _ignored(number: signal.Signals) -> Iterator[None]:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


async def test_under_nohup_a_closed_terminal_is_no_matter() -> None:
    """Who started it that way wants it to go on."""
    with _ignored(signal.SIGHUP):
        assert await _heard(signal.SIGHUP) == []
