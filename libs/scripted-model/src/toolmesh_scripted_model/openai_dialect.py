"""The protocol of OpenAI's chat completions."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from toolmesh_scripted_model.behaviour import Question, Said, Turn

PATH = "/v1/chat/completions"


def question(body: Mapping[str, Any], headers: Mapping[str, str]) -> Question:
    """Read a request."""
    said = {message["role"]: _text(message.get("content")) for message in body["messages"]}
    system = said.get("system") or said.get("developer") or ""
    key = headers.get("authorization", "").removeprefix("Bearer ")
    tools = tuple(tool["function"]["name"] for tool in body.get("tools", ()))
    last = itertools.takewhile(lambda message: message["role"] == "tool", reversed(body["messages"]))
    results = tuple(_text(message["content"]) for message in last)[::-1]
    return Question("openai", body["model"], system, said.get("user", ""), key, body, headers, tools, results)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or ())


def answer(asked: Question, said: Said) -> bytes:
    """Return a whole answer."""
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.tool_calls:
        message["tool_calls"] = [_call(number, *call) for number, call in enumerate(said.tool_calls)]
    choice = {"index": 0, "message": message, "finish_reason": _finish(said)}
    return json.dumps(_head(asked, "chat.completion") | {"choices": [choice], "usage": _usage(said)}).encode()


def events(asked: Question, turn: Turn) -> Iterator[bytes]:
    """Return the events of a streamed answer."""
    said = turn.said
    yield _chunk(asked, {"role": "assistant", "content": ""})
    for start in range(0, len(said.text), turn.pieces):
        yield _chunk(asked, {"content": said.text[start : start + turn.pieces]})
    for number, (name, arguments) in enumerate(said.tool_calls):
        yield _chunk(asked, {"tool_calls": [{"index": number, **_call(number, name, "")}]})
        for start in range(0, len(arguments), turn.pieces):
            piece = {"index": number, "function": {"arguments": arguments[start : start + turn.pieces]}}
            yield _chunk(asked, {"tool_calls": [piece]})
    yield _chunk(asked, {}, _finish(said))
    yield _event(_head(asked, "chat.completion.chunk") | {"choices": [], "usage": _usage(said)})
    yield b"data: [DONE]\n\n"


def error(turn: Turn) -> bytes:
    """Return the body of an error."""
    kind = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(turn.status, "server_error")
    return json.dumps({"error": {"message": turn.said.text or "scripted", "type": kind, "code": kind}}).encode()


def _head(asked: Question, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_800_000_000, "model": asked.model}


def _call(number: int, name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _finish(said: Said) -> str:
    return "tool_calls" if said.tool_calls else said.finish


def _usage(said: Said) -> dict[str, int]:
    total = said.input_tokens + said.output_tokens
    return {"prompt_tokens": said.input_tokens, "completion_tokens": said.output_tokens, "total_tokens": total}


def _chunk(asked: Question, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event(_head(asked, "chat.completion.chunk") | {"choices": [choice]})


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"
