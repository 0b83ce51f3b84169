"""Tools under our launcher reach the model by a descriptor: no socket is open to them, and forks don't mix answers."""

import asyncio
from pathlib import Path

import pytest
from tests.support.published_sdk import RELEASES, published_toolset
from tests.support.sample_toolsets import write_toolset
from tests.support.worker_mesh import POOL, broker_and_client, worker_in_process

from toolmesh_broker.ports import Message
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.envelopes.services import ModelReply, ModelRequest
from toolmesh_contracts.wire import decode, encode

CROWD = '''
import os

from toolmesh_sdk import SandboxToolContextFacade, ToolResult, tool_cli


def crowd(processes: int, ctx: SandboxToolContextFacade) -> ToolResult:
    """Ask from many processes at once, each its own long question, before and after the fork."""
    first = ctx.call_llm("", "parent")
    readers = []
    for number in range(processes):
        reader, writer = os.pipe()
        readers.append(reader)
        if os.fork() == 0:
            mine = f"{number}:" + chr(97 + number % 26) * 60_000
            answers = [ctx.call_llm("", mine) == f"heard {mine}" for _ in range(3)]
            os.write(writer, b"1" if all(answers) else b"0")
            os._exit(0)
        os.close(writer)
    good = [os.read(reader, 1) for reader in readers]
    return ToolResult.ok(first, data={"good": good.count(b"1"), "last": ctx.call_llm("", "again")})


cli = tool_cli(crowd)

if __name__ == "__main__":
    cli()
'''

SOCKETS = '''
import os
import socket

from toolmesh_sdk import SandboxToolContextFacade, ToolResult, tool_cli


def sockets(ctx: SandboxToolContextFacade) -> ToolResult:
    """Ask the model, and say what sockets and descriptors there are."""
    answer = ctx.call_llm("", "hello")
    try:
        socket.socket(socket.AF_UNIX)
        made = True
    except OSError:
        made = False
    ctx._model.close()
    targets = []
    for name in os.listdir("/proc/self/fd"):
        try:
            targets.append((int(name), os.readlink(f"/proc/self/fd/{name}").split(":")[0]))
        except OSError:
            continue
    return ToolResult.ok(answer, data={"made": made, "sockets": [n for n, target in targets if target == "socket"]})


cli = tool_cli(sockets)

if __name__ == "__main__":
    cli()
'''


async def heard(message: Message) -> None:
    """A model that repeats the question."""
    question = decode(ModelRequest, message.body).user_prompt
    await message.respond(encode(ModelReply(text=f"heard {question}")))


@pytest.mark.requirement("process:model")
async def test_no_socket_is_open_to_a_tool_that_asks_the_model(tmp_path: Path) -> None:
    """Under each profile the tool has one descriptor and its answer, and can make no socket of the family AF_UNIX."""
    profiles = ("restrictive", "standard", "permissive")
    tools = {f"sockets_{name}": (SOCKETS, {"sandbox_profile": name}) for name in profiles}
    toolset = write_toolset(tmp_path / "toolset", tools)
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset]):
        broker = mesh.client.broker
        async with broker.subscribe(broker.subjects.model(POOL), heard):
            results = await asyncio.gather(*(mesh.client.call(name) for name in tools))
    for result in results:
        assert (result.outcome, result.message) == (Outcome.OK, "heard hello"), result
        assert result.data == {"made": False, "sockets": [3]}


@pytest.mark.requirement("process:model")
async def test_forked_processes_of_a_tool_get_their_own_answers(tmp_path: Path) -> None:
    """Twelve processes share the descriptor, more than may be connected at a time; none reads another's line."""
    toolset = write_toolset(tmp_path / "toolset", {"crowd": (CROWD, {})})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset]):
        broker = mesh.client.broker
        async with broker.subscribe(broker.subjects.model(POOL), heard):
            result = await mesh.client.call("crowd", {"processes": 12})
    assert (result.outcome, result.message) == (Outcome.OK, "heard parent"), result
    assert result.data == {"good": 12, "last": "heard again"}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.timeout(240)  # the first run downloads the release
@pytest.mark.requirement("process:model")
async def test_published_client_asks_by_descriptor_and_by_socket(tmp_path: Path, strict: bool) -> None:
    """Repaired it needs no socket; as the package alone it has the socket file of the contract."""
    folder = await asyncio.to_thread(
        published_toolset, tmp_path / "toolset", RELEASES[-1], ["get_forecast"], strict=strict
    )
    source = (folder / "tools" / "forecast.py").read_text()
    asking = source.replace("ToolResult.ok(", 'ToolResult.ok(ctx.call_llm("", "hello") + ')
    assert asking != source
    (folder / "tools" / "forecast.py").write_text(asking)
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [folder]):
        broker = mesh.client.broker
        async with broker.subscribe(broker.subjects.model(POOL), heard):
            result = await mesh.client.call("get_forecast", {"city": "Oslo"})
    assert (result.outcome, result.message) == (Outcome.OK, "heard helloSunny in Oslo, 23 C."), result
