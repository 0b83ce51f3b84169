"""Signals that ask for an end, sent to this process."""

import asyncio
import os
import signal

import pytest
from tests.support.signal_dispositions import disposition

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
    with disposition(signal.SIGHUP, signal.SIG_DFL):
        assert await _heard(*numbers) == expected


async def test_under_nohup_a_closed_terminal_is_no_matter() -> None:
    """Who started it that way wants it to go on."""
    with disposition(signal.SIGHUP, signal.SIG_IGN):
        assert await _heard(signal.SIGHUP) == []
