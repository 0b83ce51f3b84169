"""What nobody would run is listed, shown, called again or dropped, on a mesh of real processes."""

import json
from pathlib import Path

import pytest
from tests.support.running_mesh import RunningMesh, running_mesh
from tests.support.sample_toolsets import ECHO, write_toolset

pytestmark = pytest.mark.timeout(120)


def guarded_tool(folder: Path) -> Path:
    """A tool that needs a scope."""
    return write_toolset(folder / "tools", {"echo": (ECHO, {"required_scopes": ["tool:echo:use"]})})


async def refused(mesh: RunningMesh, text: str) -> str:
    """Make a call without the scope, and return its id."""
    ended = await mesh.toolmesh("call", "echo", "--args", json.dumps({"text": text}), "--scope", "x:y:z", "--json")
    assert ended.code == 4, ended.stderr + mesh.logs()
    return str(json.loads(ended.stdout)["invocation"])


@pytest.mark.requirement("dead:looked-after")
async def test_dead_letters_are_listed_shown_called_again_and_dropped(tmp_path: Path) -> None:
    """The list tells reasons and no arguments; a requeued call has the requester's rights and then is no letter any more."""
    async with running_mesh([guarded_tool(tmp_path)]) as mesh:
        empty = await mesh.toolmesh("dead", "list")
        assert (empty.code, empty.stdout) == (0, "there are no dead letters\n"), empty.stderr

        first, second = await refused(mesh, "my secret"), await refused(mesh, "other")
        listed = await mesh.toolmesh("dead", "list", "--json")
        letters = json.loads(listed.stdout)["dead_letters"]
        assert [(one["id"], one["code"], one["tool"]) for one in letters] == [
            (first, "PERMISSION_DENIED", "echo"),
            (second, "PERMISSION_DENIED", "echo"),
        ]
        assert "tool:echo:use" in letters[0]["reason"]
        table = await mesh.toolmesh("dead", "list")
        assert first in table.stdout
        assert "my secret" not in listed.stdout + table.stdout

        shown = await mesh.toolmesh("dead", "show", first)
        assert shown.code == 0
        assert "my secret" in shown.stdout
        document = json.loads((await mesh.toolmesh("dead", "show", first, "--json")).stdout)
        assert document["invocation"]["arguments"] == {"text": "my secret"}
        assert not {"Tm-Token", "Tm-Signature"} & set(document["headers"])

        await _requeued(mesh, first)
        dropped = await mesh.toolmesh("dead", "drop", second, "--json")
        assert (dropped.code, json.loads(dropped.stdout)) == (0, {"dropped": [second]})
        assert (await mesh.toolmesh("dead", "list")).stdout == "there are no dead letters\n"


async def _requeued(mesh: RunningMesh, identity: str) -> None:
    again = await mesh.toolmesh("dead", "requeue", identity, "--json")
    assert again.code == 0, again.stderr + mesh.logs()
    result = json.loads(again.stdout)
    assert result["message"].startswith("you said my secret")
    assert result["requeued_from"] == identity
    assert result["invocation"] != identity
    assert not result["letter_kept"]
    gone = await mesh.toolmesh("dead", "requeue", identity)
    assert (gone.code, gone.stdout) == (2, "")
    assert "toolmesh dead list" in gone.stderr


async def test_letter_whose_call_is_refused_again_is_replaced_and_one_that_did_not_run_stays(tmp_path: Path) -> None:
    """Nothing is lost on the way: a second refusal is a new letter that names the old one, a time-out keeps it."""
    async with running_mesh([guarded_tool(tmp_path)]) as mesh:
        first = await refused(mesh, "hello")
        again = await mesh.toolmesh("dead", "requeue", first, "--scope", "x:y:z", "--json")
        assert again.code == 4
        [letter] = json.loads((await mesh.toolmesh("dead", "list", "--json")).stdout)["dead_letters"]
        assert letter["id"] == json.loads(again.stdout)["invocation"]
        assert letter["requeued_from"] == first

        late = await mesh.toolmesh("dead", "requeue", letter["id"], "--timeout", "0.001", "--json")
        assert late.code in {3, 5}, late.stderr
        [kept] = json.loads((await mesh.toolmesh("dead", "list", "--json")).stdout)["dead_letters"]
        assert kept["id"] == letter["id"]
