"""A task group for context managers of ours."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

__all__ = ["task_scope"]


@contextlib.asynccontextmanager
async def task_scope() -> AsyncIterator[asyncio.TaskGroup]:
    """Open a task group out of which a single failure comes as itself, not wrapped in an exception group.

    Callers of `async with broker.subscribe(...)` shall catch what their own block raised.
    """
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as errors:
        if len(errors.exceptions) > 1:
            raise
        single = errors.exceptions[0]
        raise single from single.__cause__
