"""The protocol of Anthropic's messages."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from toolmesh_scripted_model.behaviour import Question, Said, Turn

PATH = "/v1/messages"
_FINISH = {"stop": "end_turn", "length": "max_tokens"}


def question(body: Mapping[str, Any], headers: Mapping[str, str]) -> Question:
    """Read a request."""
    said = [one["content"] for one in body["messages"] if one["role"] == "user"]
    texts = [text for content in said if (text := _text(content))]
    tools = tuple(tool["name"] for tool in body.get("tools", ()))
    last = [] if not said or isinstance(said[-1], str) else said[-1]
    results = tuple(_text(part["content"]) for part in last if part["type"] == "tool_result")
    key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
    return Question(
        "anthropic",
        body["model"],
        _text(body.get("system")),
        texts[-1] if texts else "",
        key,
        body,
        headers,
        tools,
        results,
    )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or ())


def answer(asked: Question, said: Said) -> bytes:
    """Return a whole answer."""
    content: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text else []
    for number, (name, arguments) in enumerate(said.tool_calls):
        content.append(_tool_use(number, name) | {"input": json.loads(arguments)})
    usage = {"input_tokens": said.input_tokens, "output_tokens": said.output_tokens}
    return json.dumps(_head(asked) | {"content": content, "stop_reason": _finish(said), "usage": usage}).encode()


def events(asked: Question, turn: Turn) -> Iterator[bytes]:
    """Return the events of a streamed answer."""
    said = turn.said
    usage = {"input_tokens": said.input_tokens, "output_tokens": 0}
    yield _event("message_start", {"message": _head(asked) | {"content": [], "stop_reason": None, "usage": usage}})
    index = 0
    if said.text:
        pieces = [said.text[start : start + turn.pieces] for start in range(0, len(said.text), turn.pieces)]
        yield from _block(index, {"type": "text", "text": ""}, [{"type": "text_delta", "text": one} for one in pieces])
        index += 1
    for number, (name, arguments) in enumerate(said.tool_calls):
        pieces = [arguments[start : start + turn.pieces] for start in range(0, len(arguments), turn.pieces)]
        deltas = [{"type": "input_json_delta", "partial_json": one} for one in pieces]
        yield from _block(index, _tool_use(number, name) | {"input": {}}, deltas)
        index += 1
    ended = {"delta": {"stop_reason": _finish(said), "stop_sequence": None}}
    yield _event("message_delta", ended | {"usage": {"output_tokens": said.output_tokens}})
    yield _event("message_stop", {})


def error(turn: Turn) -> bytes:
    """Return the body of an error."""
    kinds = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
    inner = {"type": kinds.get(turn.status, "api_error"), "message": turn.said.text or "scripted"}
    return json.dumps({"type": "error", "error": inner}).encode()


def _head(asked: Question) -> dict[str, Any]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.model, "stop_sequence": None}


def _tool_use(number: int, name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name}


def _finish(said: Said) -> str:
    return "tool_use" if said.tool_calls else _FINISH[said.finish]


def _block(index: int, start: Mapping[str, Any], deltas: list[dict[str, Any]]) -> Iterator[bytes]:
    yield _event("content_block_start", {"index": index, "content_block": start})
    for delta in deltas:
        yield _event("content_block_delta", {"index": index, "delta": delta})
    yield _event("content_block_stop", {"index": index})


def _event(kind: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()
