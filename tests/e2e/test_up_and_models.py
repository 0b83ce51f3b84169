"""`toolmesh up` gives model settings to its executor alone, and `call` and `doctor` show what came of them."""

import json
from pathlib import Path

import pytest
from tests.support.running_mesh import running_mesh
from tests.support.sample_toolsets import write_toolset

from toolmesh_scripted_model import scripted_model

KEY = "sk-zebra-crossing-9"
ASK = '''
import os

from toolmesh_sdk import SandboxToolContextFacade, ToolResult, tool_cli


def ask(question: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Ask the model."""
    return ToolResult.ok(ctx.call_llm("", question), data=dict(os.environ))


cli = tool_cli(ask)

if __name__ == "__main__":
    cli()
'''


@pytest.mark.timeout(180)
@pytest.mark.requirement("models:keys")
async def test_model_settings_reach_the_executor_alone(tmp_path: Path) -> None:
    """A call has its answer and its tokens; no worker's environment and no file of the mesh has the key."""
    toolset = write_toolset(tmp_path / "toolset", {"ask": (ASK, {})})
    async with scripted_model() as server:
        variables = {"TOOLMESH_MODEL": "openai/small", "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.openai_url}
        async with running_mesh([toolset], extra_environment=variables, data_folder=tmp_path / "data") as mesh:
            called = await mesh.toolmesh("call", "ask", "--args", '{"question": "why?"}', "--json")
            doctor = await mesh.toolmesh("doctor", "--json")
            worker_variables = _environments_of_workers(mesh.data_folder)
        files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
        assert not [path for path in files if KEY.encode() in path.read_bytes()]
    result = json.loads(called.stdout)
    assert result["message"] == "heard why?", called
    assert result["usage"]["model_calls"] == 1
    assert (result["usage"]["model_input_tokens"], result["usage"]["model_output_tokens"]) == (11, 7)
    assert KEY not in called.stdout
    assert worker_variables
    assert not [one for one in worker_variables if KEY.encode() in one or b"TOOLMESH_MODEL" in one]
    findings = {one["check"]: one["detail"] for one in json.loads(doctor.stdout)["findings"]}
    assert findings["model"] == "tools of executor-1 may ask openai/small"


def _environments_of_workers(folder: Path) -> list[bytes]:
    config = str(next(folder.glob("worker*.yaml"))).encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and config in (entry / "cmdline").read_bytes():
                found.append((entry / "environ").read_bytes())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
