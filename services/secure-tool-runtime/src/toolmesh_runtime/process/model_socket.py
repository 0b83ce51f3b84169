"""The socket on which a tool asks the model: newline-delimited JSON-RPC 2.0, one method, `llm/call`.

Published clients take any line as the answer to their last one and wait for ever, so each line that comes in is
answered by exactly one line, and `error` is always an object.
"""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmesh_sandbox.workspaces import Workspace

__all__ = ["AskModel", "ModelQuestion", "ModelRefusedError", "model_socket"]

_MAX_LINE: Final = 512 * 1024
_MAX_CONNECTIONS: Final = 8
_READ_BYTES: Final = 1 << 16
_DEFAULT_TEMPERATURE: Final = 0.7
_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602
_REFUSED: Final = -32000


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """What a tool asks."""

    system_prompt: str
    user_prompt: str
    temperature: float


class ModelRefusedError(Exception):
    """Raised when a question has no answer; its text is for the tool."""


AskModel = Callable[[ModelQuestion], Awaitable[str]]
"""Returns the model's text, in bounded time; raises ModelRefusedError."""


@contextlib.asynccontextmanager
async def model_socket(workspace: Workspace, name: str, ask: AskModel) -> AsyncIterator[None]:
    """Serve the socket `name` in the workspace until the block ends.

    Raises:
        OSError: it can't be made.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.setblocking(False)
        _bind(listener, workspace.host, name)
        workspace.adopt(name)
        listener.listen()
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(_serve(listener, ask))
            try:
                yield
            finally:
                serving.cancel()


def _bind(listener: socket.socket, folder: Path, name: str) -> None:
    """Bind below an open folder: a path of more than 107 bytes fits no socket address."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{descriptor}/{name}")
    finally:
        os.close(descriptor)


async def _serve(listener: socket.socket, ask: AskModel) -> None:
    loop = asyncio.get_running_loop()
    free = asyncio.Semaphore(_MAX_CONNECTIONS)
    async with asyncio.TaskGroup() as group:
        while True:
            await free.acquire()
            connection, _ = await loop.sock_accept(listener)
            task = group.create_task(_talk(connection, ask))
            task.add_done_callback(lambda _task: free.release())


async def _talk(connection: socket.socket, ask: AskModel) -> None:
    loop = asyncio.get_running_loop()
    rest, skipping = b"", False
    with connection, contextlib.suppress(OSError):  # the tool has gone away
        while data := await loop.sock_recv(connection, _READ_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if not skipping:
                    await loop.sock_sendall(connection, await _answer(line, ask))
                skipping = False
            if len(rest) > _MAX_LINE and not skipping:
                await loop.sock_sendall(connection, await _answer(rest, ask))
                skipping = True
            if skipping:
                rest = b""


async def _answer(line: bytes, ask: AskModel) -> bytes:
    if len(line) > _MAX_LINE:
        return _error(None, _INVALID_REQUEST, f"a request may have {_MAX_LINE} bytes")
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, _PARSE_ERROR, "the request is no JSON")
    if not isinstance(request, dict):
        return _error(None, _INVALID_REQUEST, "the request is no JSON object")
    identifier = request.get("id")
    if not isinstance(identifier, str | int | float | None):
        identifier = None
    if request.get("method") != "llm/call":
        return _error(identifier, _METHOD_NOT_FOUND, f"there is no method {str(request.get('method'))[:100]!r}")
    question = _question(request.get("params"))
    if isinstance(question, str):
        return _error(identifier, _INVALID_PARAMS, question)
    try:
        text = await ask(question)
    except ModelRefusedError as refusal:
        return _error(identifier, _REFUSED, str(refusal))
    return _line({"jsonrpc": "2.0", "id": identifier, "result": {"text": text}})


def _question(params: Any) -> ModelQuestion | str:
    """Return what is asked, or what is wrong with it."""
    if not isinstance(params, dict):
        return "params should be an object"
    prompts = [params.get(key, "") for key in ("system_prompt", "user_prompt")]
    if not all(isinstance(prompt, str) for prompt in prompts):
        return "system_prompt and user_prompt should be text"
    temperature = params.get("temperature", _DEFAULT_TEMPERATURE)
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 <= temperature <= 2:
        return "temperature should be a number from 0 to 2"
    system, user = (prompt.encode(errors="replace").decode() for prompt in prompts)
    return ModelQuestion(system, user, float(temperature))


def _error(identifier: Any, code: int, message: str) -> bytes:
    return _line({"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": message}})


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode("ascii") + b"\n"
