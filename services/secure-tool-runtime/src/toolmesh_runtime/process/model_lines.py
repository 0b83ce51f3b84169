"""What a tool and its worker say to each other about the model: newline-delimited JSON-RPC 2.0, one method, `llm/call`.

Published clients take any line as the answer to their last one and wait for ever, so each line that comes in is
answered by exactly one line, and `error` is always an object.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["AskModel", "ModelAnswer", "ModelQuestion", "ModelRefusedError", "talk"]

_MAX_LINE: Final = 512 * 1024
_READ_BYTES: Final = 1 << 16
_DEFAULT_TEMPERATURE: Final = 0.7
_LONGEST_NAME: Final = 200
_MOST_TOKENS: Final = 1_000_000
_LONGEST_WAIT_S: Final = 86_400
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
    model: str = ""
    """One that the agent allows its tools; empty for the agent's own."""
    max_tokens: int | None = None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What the model says."""

    text: str
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class ModelRefusedError(Exception):
    """Raised when a question has no answer; its text is for the tool.

    Attributes:
        retryable: The same question may be answered a moment later.
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


AskModel = Callable[[ModelQuestion], Awaitable[ModelAnswer]]
"""Answers in bounded time; raises ModelRefusedError."""


async def talk(connection: socket.socket, ask: AskModel) -> None:
    """Answer line by line, and close the connection when the tool has done so."""
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
        answer = await ask(question)
    except ModelRefusedError as refusal:
        return _error(identifier, _REFUSED, str(refusal), retryable=refusal.retryable)
    usage = {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    result = {"text": answer.text, "model": answer.model, "usage": usage}
    return _line({"jsonrpc": "2.0", "id": identifier, "result": result})


def _question(params: Any) -> ModelQuestion | str:
    """Return what is asked, or what is wrong with it."""
    if not isinstance(params, dict):
        return "params should be an object"
    prompts = [params.get(key, "") for key in ("system_prompt", "user_prompt")]
    if not all(isinstance(prompt, str) for prompt in prompts):
        return "system_prompt and user_prompt should be text"
    temperature = params.get("temperature", _DEFAULT_TEMPERATURE)
    if not _is_number(temperature) or not 0 <= temperature <= 2:
        return "temperature should be a number from 0 to 2"
    model = params.get("model") or ""
    if not isinstance(model, str) or len(model) > _LONGEST_NAME:
        return f"model should be a name of at most {_LONGEST_NAME} characters"
    max_tokens = params.get("max_tokens")
    if max_tokens is not None and not (type(max_tokens) is int and 1 <= max_tokens <= _MOST_TOKENS):
        return f"max_tokens should be a whole number from 1 to {_MOST_TOKENS}"
    timeout_s = params.get("timeout_s")
    if timeout_s is not None and not (_is_number(timeout_s) and 0 < timeout_s <= _LONGEST_WAIT_S):
        return f"timeout_s should be a number above 0, at most {_LONGEST_WAIT_S}"
    system, user, name = (text.encode(errors="replace").decode() for text in (*prompts, model))
    return ModelQuestion(system, user, float(temperature), name, max_tokens, timeout_s)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _error(identifier: Any, code: int, message: str, *, retryable: bool = False) -> bytes:
    error = {"code": code, "message": message, **({"data": {"retryable": True}} if retryable else {})}
    return _line({"jsonrpc": "2.0", "id": identifier, "error": error})


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode("ascii") + b"\n"
