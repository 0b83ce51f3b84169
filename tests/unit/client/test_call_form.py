"""Calls that are wrong before anything is looked up."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.scripted_worker import echo
from tests.support.tool_client import memory_mesh

from toolmesh_client import CallRequest
from toolmesh_client.errors import InvalidCallError


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"tool": None}, "the tool's name must be text, not NoneType"),
        ({"tool": "echo", "pool": 3}, "the pool's name must be text, not int"),
        ({"tool": "echo", "timeout_s": "5"}, "timeout_s must be a number of seconds, not str"),
        ({"tool": "echo", "timeout_s": 0}, "a timeout of 0 s leaves no time"),
        ({"tool": "echo", "timeout_s": float("nan")}, "a timeout of nan s leaves no time"),
    ],
)
async def test_a_call_of_the_wrong_form_is_one_typed_error(tmp_path: Path, request_: dict[str, Any], said: str) -> None:
    """Who calls without a type checker gets the field's name, and no error of whatever trips over it."""
    async with memory_mesh(tmp_path, {"echo": echo}) as (_, client, _):
        with pytest.raises(InvalidCallError, match=said):
            await client.run(CallRequest(**request_))
