"""Made-up tools never hang the worker, lose a result silently, or have a failure reported as a success."""

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.support.generated_tools import GeneratedTool, generated_tools, write_toolset
from tests.support.worker_mesh import broker_and_client, worker_in_process

from toolmesh_client import CallResult
from toolmesh_contracts.envelopes.reply import Outcome

BATCH = 12
COUNT = int(os.environ.get("TOOLMESH_GENERATED_TOOLS", "36"))
"""How many tools; `make generated-tools` asks for 1,000."""
CALL_LIMIT_S = 60


def converted(tool: GeneratedTool) -> dict[str, object]:
    """The arguments as the function must have seen them: texts are numbers where the annotation says so."""
    readers: dict[str, Callable[[Any], object]] = {
        "int": int,
        "float": float,
        "bool": lambda value: value in (True, "true"),
    }
    return {
        f"p{number}": readers[annotation](value) if annotation in readers else value
        for number, (annotation, value) in enumerate(tool.parameters)
    }


def fault(tool: GeneratedTool, result: CallResult) -> str:
    """What is wrong with a result; empty if nothing is."""
    if result.outcome not in tool.outcomes:
        return f"outcome {result.outcome}: {result.message} {result.error}"
    # An SDK leaves empty data out.
    if tool.echoes and (result.data or {}) != converted(tool):
        return f"saw {result.data!r}, not {converted(tool)!r}"
    if result.outcome is Outcome.ERROR and (result.error is None or not result.error.message):
        return "an error without a message"
    return ""


@pytest.mark.timeout(60 + COUNT * 4)
@settings(
    max_examples=-(-COUNT // BATCH),
    deadline=None,
    database=None,
    phases=[Phase.generate],  # a batch is slow; its failure names the tool
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(generated_tools(), min_size=BATCH, max_size=BATCH))
def test_every_made_up_tool_has_its_right_outcome(tools: list[GeneratedTool]) -> None:
    """Signatures x styles x result shapes x misbehaviour, through a real worker."""
    asyncio.run(check(tools))


async def check(tools: list[GeneratedTool]) -> None:
    with tempfile.TemporaryDirectory(prefix="toolmesh-generated-") as folder:
        toolset = write_toolset(Path(folder) / "toolset", tools)
        async with broker_and_client(Path(folder)) as mesh, worker_in_process(mesh, [toolset]):
            async with asyncio.timeout(CALL_LIMIT_S + 2 * len(tools)):
                results = await asyncio.gather(
                    *(mesh.client.call(f"g{number}", tool.arguments) for number, tool in enumerate(tools))
                )
    faults = [(tool, fault(tool, result)) for tool, result in zip(tools, results, strict=True)]
    assert not [(tool, text) for tool, text in faults if text]
