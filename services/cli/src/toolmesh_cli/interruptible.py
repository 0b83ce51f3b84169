"""Waits for a result that Ctrl-C can withdraw."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from toolmesh_cli import exit_codes
from toolmesh_cli.failures import CommandFailedError
from toolmesh_cli.stop_requests import stop_requests
from toolmesh_contracts.errors import ErrorCode

__all__ = ["interruptible"]

R = TypeVar("R")


async def interruptible(work: Coroutine[Any, Any, R], given_up: str = "the call was withdrawn") -> R:
    """Return the work's result; Ctrl-C, SIGTERM and a closed terminal cancel the work.

    Args:
        work: What to wait for.
        given_up: What it means that it was cancelled, for the message.

    Raises:
        CommandFailedError: it was cancelled that way.
    """
    task = asyncio.create_task(work)
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        task.cancel()

    with stop_requests(first=interrupt, again=interrupt):
        try:
            return await task
        except asyncio.CancelledError:
            if not interrupted:
                task.cancel()
                raise
            raise CommandFailedError(
                f"interrupted; {given_up}", code=ErrorCode.CANCELLED, exit_code=exit_codes.CANCELLED
            ) from None
