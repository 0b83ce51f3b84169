"""What nobody would run is listed, shown, called again or dropped, on a mesh of real processes."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest
from tests.support.running_mesh import Finished, RunningMesh, run_toolmesh, running_mesh, start_toolmesh
from tests.support.sample_toolsets import ECHO, SLEEPING, WRITING, write_toolset

from toolmesh_broker.dead_letters import DeadLetters
from toolmesh_broker.embedded.descriptor import find_running
from toolmesh_broker.identities import Operator, Worker
from toolmesh_broker.jetstream.broker import connect
from toolmesh_cli.mesh_connection import connect_to_mesh
from toolmesh_client import CallRequest
from toolmesh_client.secrets_box import Secret
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.wire import encode

pytestmark = pytest.mark.timeout(120)

TELLING = '''
from toolmesh_sdk import ConfigSchemaField, ToolContext, tool_cli, with_config_schema


@with_config_schema([ConfigSchemaField("word", secret=True, required=True)])
def tell(text: str, ctx: ToolContext) -> str:
    """Tell a text and a word.

    Args:
        text: The text.
    """
    word = ctx.tool_config["word"]
    return f"{text} {len(word)} {word}"


cli = tool_cli(tell)

if __name__ == "__main__":
    cli()
'''
TELLERS = """agents:
  - name: teller
    tools:
      - {tool_type: builtin, tool_name: tell_it, tool_config: {_str_binary: tell, word: "${TELLERS_WORD}"}}
  - name: other
    tools:
      - {tool_type: builtin, tool_name: tell_it, tool_config: {_str_binary: echo}}
"""


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
        assert "letter 1 of" not in shown.stdout
        [document] = json.loads((await mesh.toolmesh("dead", "show", first, "--json")).stdout)["dead_letters"]
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


@pytest.mark.requirement("dead:looked-after")
async def test_all_letters_of_one_id_are_shown_the_oldest_first(tmp_path: Path) -> None:
    """A call that was recorded and sent again has several, with reasons of their own."""
    async with running_mesh([guarded_tool(tmp_path)]) as mesh:
        identity = await refused(mesh, "my secret")
        running = find_running(mesh.data_folder)
        async with connect(running.connection(Operator())) as broker:
            [kept] = await DeadLetters(broker, running.pools).find(identity)
        again = msgspec.structs.replace(kept.letter, reason="refused once more")
        async with connect(running.connection(Worker("default", "worker-1"))) as broker:
            names = broker.subjects
            subject = names.dead_letter("default", identity)
            await broker.append(names.dead_stream("default"), subject, encode(again), message_id="dead.again")

        shown = await mesh.toolmesh("dead", "show", identity)
        told = [line for line in shown.stdout.splitlines() if line.startswith(("letter ", "reason "))]
        assert told[0::2] == ["letter 1 of 2", "letter 2 of 2"]
        assert ["refused once more" in line for line in told[1::2]] == [False, True]
        document = json.loads((await mesh.toolmesh("dead", "show", identity, "--json")).stdout)
        assert [one["reason"] for one in document["dead_letters"]] == [kept.letter.reason, "refused once more"]
        await _requeued(mesh, identity)
        assert (await mesh.toolmesh("dead", "list")).stdout == "there are no dead letters\n"


async def test_requeued_call_ends_as_a_call_does(tmp_path: Path) -> None:
    """Its files are saved, and a folder that can't be written is told before anything runs."""
    tools = write_toolset(tmp_path / "tools", {"write": (WRITING, {"required_scopes": ["tool:write:use"]})})
    given = json.dumps({"name": "long.txt", "text": "x" * 5000})
    (tmp_path / "file").touch()
    async with running_mesh([tools]) as mesh:
        call = await mesh.toolmesh("call", "write", "--args", given, "--scope", "x:y:z", "--json")
        identity = json.loads(call.stdout)["invocation"]
        wrong = await mesh.toolmesh("dead", "requeue", identity, "--save-artifacts", str(tmp_path / "file"), "--json")
        assert (wrong.code, json.loads(wrong.stdout)["error"]["code"]) == (2, "INVALID_CONFIGURATION"), wrong
        again = await mesh.toolmesh("dead", "requeue", identity, "--save-artifacts", str(tmp_path / "out"), "--json")
        assert again.code == 0, again.stderr + mesh.logs()
    document = json.loads(again.stdout)
    assert document["artifacts"][0]["saved_as"] == str(tmp_path / "out" / "long.txt")
    assert (document["requeued_from"], document["letter_kept"]) == (identity, False)
    assert (tmp_path / "out" / "long.txt").read_text() == "x" * 5000


async def test_secret_settings_of_a_requeued_call_come_from_the_agents_file(tmp_path: Path) -> None:
    """They were sealed to the former call; refused without the agent, with the command, and with another agent's tool."""
    tools = write_toolset(
        tmp_path / "tools",
        {"tell": (TELLING, {"required_scopes": ["tool:tell:use"]}), "echo": (ECHO, {})},
    )
    agents = tmp_path / "agents.yaml"
    agents.write_text(TELLERS)
    environment = {"TELLERS_WORD": "zebra-crossing"}
    async with running_mesh([tools], agents=[agents], extra_environment=environment) as mesh:
        identity = await _refused_with_a_secret(mesh)
        refused = await mesh.toolmesh("dead", "requeue", identity)
        assert (refused.code, refused.stdout) == (2, "")
        assert f"`toolmesh dead requeue {identity} --agent teller` takes them from the agent's file" in refused.stderr

        async def requeue(agent: str) -> Finished:
            arguments = ("dead", "requeue", identity, "--agent", agent, "--json")
            data = mesh.data_folder
            return await run_toolmesh(*arguments, data_folder=data, extra_environment=environment)

        other = await requeue("other")
        assert other.code == 2, other.stderr
        assert "has 'echo' in pool 'default' as 'tell_it'" in other.stderr
        [letter] = json.loads((await mesh.toolmesh("dead", "list", "--json")).stdout)["dead_letters"]
        again = await requeue("teller")
        assert again.code == 0, again.stderr + mesh.logs()
        assert (await mesh.toolmesh("dead", "list")).stdout == "there are no dead letters\n"
    document = json.loads(again.stdout)
    assert document["message"] == "hello 14 [redacted]"
    assert (document["requeued_from"], letter["id"]) == (identity, identity)


async def _refused_with_a_secret(mesh: RunningMesh) -> str:
    request = CallRequest(
        tool="tell",
        exposed_name="tell_it",
        arguments={"text": "hello"},
        secrets=(Secret(("word",), "an old word"),),
        agent="teller",
    )
    async with connect_to_mesh(mesh.data_folder, scopes=["x:y:z"]) as connected:
        result = await connected.client.run(request)
    assert result.error is not None
    assert result.error.code is ErrorCode.PERMISSION_DENIED
    return result.invocation


@pytest.mark.timeout(240)
async def test_requeued_call_is_given_up_when_its_mesh_stays_away(tmp_path: Path) -> None:
    """As a call is: told at once, exit code 3 and how to find the result; the letter stays."""
    keys = {"required_scopes": ["tool:sleep:use"], "timeout_seconds": 60}
    tools, data = write_toolset(tmp_path / "tools", {"sleep": (SLEEPING, keys)}), tmp_path / "data"
    async with running_mesh([tools], data_folder=data) as mesh:
        call = await mesh.toolmesh("call", "sleep", "--args", '{"seconds": 50}', "--scope", "x:y:z", "--json")
        identity = json.loads(call.stdout)["invocation"]
        requeue = await start_toolmesh("dead", "requeue", identity, "--json", data_folder=data)
        assert requeue.stderr is not None
        async with asyncio.timeout(30):
            while b"sleeping" not in await requeue.stderr.readline():
                pass
        mesh.process.kill()
        await mesh.process.wait()
        async with asyncio.timeout(60):
            stdout, stderr = await requeue.communicate()
    assert requeue.returncode == 3, stderr
    assert b"the connection to the broker is lost; trying again" in stderr
    assert b"its dead letter stays" in stderr
    document = json.loads(stdout)
    assert (document["error"]["code"], document["letter_kept"]) == ("BROKER_UNREACHABLE", True)
    assert f"toolmesh result {document['invocation']}" in document["error"]["hint"]
    async with running_mesh([tools], data_folder=data) as mesh:
        [kept] = json.loads((await mesh.toolmesh("dead", "list", "--json")).stdout)["dead_letters"]
    assert kept["id"] == identity
