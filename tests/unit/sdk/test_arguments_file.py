"""The arguments file field by field: what is absent, null, odd or unknown costs no call."""

import json
import subprocess

import pytest
from tests.support.tool_process import LAUNCHER, ToolProcess

TELLER = """
    import os
    from toolmesh_sdk import ToolContext, tool_cli

    def tell(ctx: ToolContext, word: str = "none"):
        "Tell what came."
        return {
            "who": [ctx.user_id, ctx.session_id, ctx.app_name, ctx.task_id, ctx.auth_token],
            "config": ctx.tool_config, "profile": ctx.user_profile, "mounts": len(ctx.volume_mounts),
            "taken": ctx.send_status("x"), "folders": sorted(os.listdir()), "word": word,
        }

    tool_cli(tell)()
"""
NOBODY = {"who": ["unknown", "unknown", "", "", ""], "config": {}, "profile": {}, "mounts": 0, "taken": False}


def told(tool: ToolProcess, fields: dict[str, object]) -> dict[str, object]:
    """Run the tool with exactly these fields, and a result file."""
    result = tool.folder / "result.json"
    result.unlink(missing_ok=True)
    arguments = tool.folder / "arguments.json"
    arguments.write_text(json.dumps({"result_file": str(result), **fields}))
    code, _, stderr = tool.run(str(arguments))
    assert (code, stderr) == (0, "")
    envelope = json.loads(result.read_text())
    assert envelope["error"] == ""
    return dict(envelope["result"])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"args": None, "tool_name": None, "user_id": None, "session_id": None, "app_name": None, "task_id": None},
        {"module": "elsewhere", "function": "run", "class_name": "X", "init_mode": True, "new_in_2027": [1]},
        {"tool_oauth_token": None, "a2a_user_config": "no json", "volume_mounts": [7], "ipc_socket": "/nowhere"},
        {"tool_config": [1], "artifact_metadata": [1], "artifact_paths": "x", "a2a_user_config": "[1]"},
    ],
    ids=["absent", "null", "unknown", "odd", "of the wrong kind"],
)
def test_fields_that_are_absent_odd_or_unknown_have_their_defaults(
    venv_tool: ToolProcess, fields: dict[str, object]
) -> None:
    """No folder is made, no socket is asked and nothing is said before the tool wants it."""
    venv_tool.write(TELLER)
    answer = told(venv_tool, fields)
    assert answer == {**NOBODY, "folders": ["arguments.json", "tool.py"], "word": "none"}


def test_a_profile_that_is_an_object_is_taken(venv_tool: ToolProcess) -> None:
    """The contract has it as JSON text; the meaning of an object is plain."""
    venv_tool.write(TELLER)
    assert told(venv_tool, {"a2a_user_config": {"user_profile": {"id": "u"}}})["profile"] == {"id": "u"}


def test_an_artifact_without_a_path_is_one_that_did_not_come(venv_tool: ToolProcess) -> None:
    """An error for the caller, where the published SDK died without a result."""
    venv_tool.write(
        "from toolmesh_sdk import *\ndef read(doc: Artifact):\n    'Read.'\n    return doc.as_text()\ntool_cli(read)()"
    )
    for entry in ({"filename": "a.txt"}, None):
        error = venv_tool.call({"doc": "a.txt"}, artifact_metadata={"doc": entry}).error
        assert "doc: artifact 'a.txt' did not come with this call" in error


def test_a_file_where_the_output_folder_belongs_hurts_only_who_saves(venv_tool: ToolProcess) -> None:
    """It used to end every tool before it ran."""
    (venv_tool.folder / "output").write_text("in the way")
    venv_tool.write(TELLER)
    assert venv_tool.call().result["word"] == "none"
    venv_tool.write(
        "from toolmesh_sdk import *\ndef save(ctx=None):\n    'Save.'\n    ctx.save_artifact('a', b'x')\ntool_cli(save)()"
    )
    assert "Error" in venv_tool.call().error


def test_no_variable_of_the_environment_is_needed_or_obeyed(tool: ToolProcess) -> None:
    """Other alphabets arrive under the poorest locale, and whatever is set changes nothing."""
    tool.write(TELLER)
    result = tool.folder / "result.json"
    arguments = tool.folder / "arguments.json"
    fields = {"result_file": str(result), "args": {"word": "Ørsta 😀"}}
    arguments.write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")
    poor = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TOOL_NAME": "x", "RESULT_FILE": "/nowhere"}
    for environment in ({}, poor):
        command = [tool.python, "-B", str(LAUNCHER), str(tool.folder / "tool.py"), str(arguments)]
        subprocess.run(command, cwd=tool.folder, env=environment, check=True, timeout=30)
        assert json.loads(result.read_text())["result"]["word"] == "Ørsta 😀"
        result.unlink()
