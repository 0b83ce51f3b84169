"""Runs what a command does, with Ctrl-C and logs as every command has them."""

from collections.abc import Coroutine
from typing import Any

__all__ = ["run_command"]


def run_command(command: Coroutine[Any, Any, int]) -> int:
    """Run a command to its end and return its exit code."""
    import asyncio

    from toolmesh_cli.library_logs import drop_library_logs

    drop_library_logs()
    return asyncio.run(command)
