"""The socket on which tools ask the model: one line in, one line out, whatever comes."""

import asyncio
import io
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.descriptor_limit import no_descriptor_left
from tests.support.tool_client import until

from toolmesh_runtime.process.model_lines import AskModel, ModelAnswer, ModelQuestion, ModelRefusedError
from toolmesh_runtime.process.model_socket import model_socket
from toolmesh_sandbox.workspaces import Workspace
from toolmesh_sdk.errors import IPCError
from toolmesh_sdk.model_channel import IPCClient
from toolmesh_telemetry.logs import configure_logging

SOCKET = "ipc.sock"


class Connection:
    """A client that sends lines and reads lines."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, request: Any) -> Any:
        """Send one line and return the next one."""
        line = request if isinstance(request, bytes) else json.dumps(request).encode()
        self.writer.write(line + b"\n")
        async with asyncio.timeout(10):
            return json.loads(await self.reader.readline())


@asynccontextmanager
async def connection(folder: Path) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_unix_connection(folder / SOCKET, limit=1 << 26)
    try:
        yield Connection(reader, writer)
    finally:
        writer.close()


async def echo(question: ModelQuestion) -> ModelAnswer:
    """Answers with what was asked."""
    if question.user_prompt in {"refuse", "later"}:
        raise ModelRefusedError("quota", retryable=question.user_prompt == "later")
    text = f"{question.system_prompt}|{question.user_prompt}|{question.temperature}"
    return ModelAnswer(text, question.model or "test/echo", question.max_tokens or 0, 2)


def request(identifier: Any = "1", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identifier, "method": "llm/call", "params": params}


def answered(identifier: Any, text: str) -> dict[str, Any]:
    usage = {"input_tokens": 0, "output_tokens": 2}
    return {"jsonrpc": "2.0", "id": identifier, "result": {"text": text, "model": "test/echo", "usage": usage}}


def serving(folder: Path, ask: AskModel = echo) -> Any:
    return model_socket(Workspace(folder, None), SOCKET, ask)


@pytest.mark.requirement("process:model")
async def test_question_has_its_answer_and_its_id(tmp_path: Path) -> None:
    """As the contract writes it; without a temperature it is 0.7, and many calls share a connection."""
    async with serving(tmp_path), connection(tmp_path) as client:
        first = await client.ask(request("1", system_prompt="sys", user_prompt="hello", temperature=0.1))
        second = await client.ask(request(2, user_prompt="again"))
    assert first == answered("1", "sys|hello|0.1")
    assert second == answered(2, "|again|0.7")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"", -32700),
        (b"[" * 100_000, -32700),
        (b"[1]", -32600),
        (b'"text"', -32600),
        ({"id": "1"}, -32601),
        ({"id": "1", "method": "llm/stream"}, -32601),
        ({"id": {"a": 1}, "method": None}, -32601),
        ({"id": "1", "method": "llm/call"}, -32602),
        ({"id": "1", "method": "llm/call", "params": []}, -32602),
        (request(user_prompt=5), -32602),
        (request(user_prompt="x", temperature="hot"), -32602),
        (request(user_prompt="x", temperature=True), -32602),
        (request(user_prompt="x", temperature=3), -32602),
        (b'{"id": "1", "method": "llm/call", "params": {"temperature": NaN}}', -32602),
        (b'{"id": "1", "method": "llm/call", "params": {"temperature": 1' + b"0" * 400 + b"}}", -32602),
        (request(user_prompt="x", model=["a"]), -32602),
        (request(user_prompt="x", model="a" * 201), -32602),
        (request(user_prompt="x", max_tokens=0), -32602),
        (request(user_prompt="x", max_tokens=True), -32602),
        (request(user_prompt="x", timeout_s=-1), -32602),
        (request(user_prompt="refuse"), -32000),
    ],
)
@pytest.mark.requirement("process:model")
async def test_each_bad_line_has_one_answer_that_is_an_error_object(tmp_path: Path, line: Any, code: int) -> None:
    """Published clients die of an error that is text, and wait for ever for one that does not come."""
    async with serving(tmp_path), connection(tmp_path) as client:
        answer = await client.ask(line)
        good = await client.ask(request("2", user_prompt="after"))
    assert answer["error"]["code"] == code
    assert isinstance(answer["error"]["message"], str)
    assert "result" not in answer
    assert good == answered("2", "|after|0.7")


@pytest.mark.requirement("process:model")
async def test_endless_line_has_one_answer_and_no_memory(tmp_path: Path) -> None:
    """The rest of the line is dropped, and the next one is served."""
    async with serving(tmp_path), connection(tmp_path) as client:
        for _ in range(40):
            client.writer.write(b"x" * 100_000)
            await client.writer.drain()
        first = await client.ask(b"the end")
        second = await client.ask(request(user_prompt="x"))
    assert first["error"]["code"] == -32600
    assert second == answered("1", "|x|0.7")


async def test_surrogates_and_large_answers_pass(tmp_path: Path) -> None:
    """What has no UTF-8 form becomes a question mark, and an answer may have megabytes."""

    async def large(question: ModelQuestion) -> ModelAnswer:
        return ModelAnswer("é" * 3_000_000 + question.user_prompt)

    async with serving(tmp_path, large), connection(tmp_path) as client:
        answer = await client.ask(b'{"id": "1", "method": "llm/call", "params": {"user_prompt": "\\ud800"}}')
    assert len(answer["result"]["text"]) == 3_000_001
    assert answer["result"]["text"].endswith("?")


async def test_leaving_ends_what_is_asked_just_now(tmp_path: Path) -> None:
    """The tool has ended: nobody waits for the model any more."""
    asked, ended = asyncio.Event(), asyncio.Event()

    async def silent(_question: ModelQuestion) -> ModelAnswer:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ModelAnswer("")

    async with serving(tmp_path, silent), connection(tmp_path) as client:
        client.writer.write(json.dumps(request(user_prompt="x")).encode() + b"\n")
        async with asyncio.timeout(10):
            await asked.wait()
    assert ended.is_set()


async def test_tools_that_go_away_or_come_in_crowds_do_no_harm(tmp_path: Path) -> None:
    """A client that does not read its answer, and twenty at once."""
    async with serving(tmp_path):
        async with connection(tmp_path) as client:
            client.writer.write(json.dumps(request(user_prompt="x")).encode() + b"\n")
        answers = await asyncio.gather(*(_one(tmp_path, number) for number in range(20)))
    assert answers == [f"|{number}|0.7" for number in range(20)]


async def _one(folder: Path, number: int) -> str:
    async with connection(folder) as client:
        answer = await client.ask(request(user_prompt=str(number)))
    return str(answer["result"]["text"])


@pytest.mark.requirement("process:model")
async def test_our_own_client_speaks_it(tmp_path: Path) -> None:
    """SDK and worker are two ends of one contract."""
    client = IPCClient(str(tmp_path / SOCKET), timeout_s=10)
    async with serving(tmp_path):
        text = await asyncio.to_thread(client.call_llm, "sys", "hello", 0.2)
        with pytest.raises(IPCError, match="IPC error -32000: quota"):
            await asyncio.to_thread(client.call_llm, "sys", "refuse")
        with pytest.raises(IPCError) as later:
            await asyncio.to_thread(client.call_llm, "sys", "later")
        answer = await asyncio.to_thread(client.ask_model, "sys", "hello", model="a/b", max_tokens=7, timeout_s=5)
        client.close()
    assert later.value.retryable
    assert text == "sys|hello|0.2"
    assert (answer.text, answer.model, answer.input_tokens, answer.output_tokens) == ("sys|hello|0.7", "a/b", 7, 2)


async def test_path_may_be_longer_than_a_socket_address(tmp_path: Path) -> None:
    """The tool sees it under a short name; on the host its folder may lie deep."""
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    async with serving(folder):
        assert (folder / SOCKET).is_socket()


@pytest.mark.requirement("process:model")
async def test_lack_of_descriptors_delays_a_connection_and_ends_no_call(tmp_path: Path) -> None:
    """Who connects meanwhile is served once there is one again; the log says once why it took so long."""
    loop, log = asyncio.get_running_loop(), io.StringIO()
    with configure_logging("worker", "w", stream=log), socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        async with serving(tmp_path):
            with no_descriptor_left():
                await loop.sock_connect(client, str(tmp_path / SOCKET))
                await until(lambda: "has to wait" in log.getvalue(), "the log's line")
            await loop.sock_sendall(client, json.dumps(request(user_prompt="x")).encode() + b"\n")
            async with asyncio.timeout(10):
                answer = await loop.sock_recv(client, 1 << 16)
    assert json.loads(answer) == answered("1", "|x|0.7")
    assert log.getvalue().count("has to wait") == 1
    assert "Too many open files" in log.getvalue()
