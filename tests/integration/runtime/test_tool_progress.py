"""How far a tool is, from its context to its caller."""

from pathlib import Path

import pytest
from tests.support.sample_toolsets import write_toolset
from tests.support.worker_mesh import broker_and_client, worker_in_process

from toolmesh_contracts.envelopes.reply import Outcome, Status

STEPS = '''
import time

from toolmesh_sdk import ToolContext, ToolResult, tool_cli


def steps(ctx: ToolContext) -> ToolResult:
    """Do two things."""
    ctx.send_progress(0.5, "half of it")
    time.sleep(0.5)
    ctx.send_progress(1)
    return ToolResult.ok("done")


cli = tool_cli(steps)

if __name__ == "__main__":
    cli()
'''


@pytest.mark.requirement("process:status")
async def test_progress_reaches_the_caller(tmp_path: Path) -> None:
    """A status has the part that is done beside its text."""
    toolset = write_toolset(tmp_path / "steps", {"steps": (STEPS, {})})
    statuses: list[Status] = []
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset]):
        result = await mesh.client.call("steps", on_status=statuses.append)
    assert result.outcome is Outcome.OK, result
    assert [(status.text, status.progress) for status in statuses][-2:] == [("half of it", 0.5), ("100%", 1.0)]
