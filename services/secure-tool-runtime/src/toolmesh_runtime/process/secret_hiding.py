"""Takes a call's own secrets out of all that its tool said and left."""

import json
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from toolmesh_runtime.process.result_envelope import DataObject, ToolReturn
from toolmesh_telemetry.redaction import Redactor

__all__ = ["redacted", "without", "without_in_stream"]

_MASK: Final = b"[redacted]"
_SHORTEST: Final = 4
"""Shorter ones would garble every file."""


def redacted(returned: ToolReturn, secrets: tuple[str, ...]) -> ToolReturn:
    """Return what a tool said without the secrets it was given; its data and files too, as they are stored in clear.

    Only the call's own secrets are looked for: a tool may well return something that looks like a token.
    """
    if not secrets:
        return returned
    hide = Redactor()
    hide.add(*secrets)
    error = returned.error
    if error is not None:
        error = msgspec.structs.replace(error, message=hide.exact(error.message), type=hide.exact(error.type))
    return replace(
        returned,
        message=hide.exact(returned.message),
        data=None if returned.data is None else _redacted_json(returned.data, hide),
        error=error,
        data_objects=tuple(_redacted_object(item, hide, secrets) for item in returned.data_objects),
        notes=tuple(map(hide.exact, returned.notes)),
        log=hide.exact(returned.log),
    )


def _redacted_object(item: DataObject, hide: Redactor, secrets: tuple[str, ...]) -> DataObject:
    content = item.content
    if content is not None and item.is_text:
        content = hide.exact(content.decode(errors="replace")).encode()
    elif content is not None:
        content = without(content, secrets)
    metadata = None if item.metadata is None else json.loads(_redacted_json(json.dumps(item.metadata).encode(), hide))
    return replace(
        item,
        name=hide.exact(item.name),
        content=content,
        description=None if item.description is None else hide.exact(item.description),
        preview=None if item.preview is None else hide.exact(item.preview),
        metadata=metadata,
    )


def _redacted_json(data: bytes, hide: Redactor) -> bytes:
    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return hide.exact(value)
        if isinstance(value, list):
            return [clean(item) for item in value]
        if isinstance(value, dict):
            return {hide.exact(key): clean(item) for key, item in value.items()}
        return value

    return json.dumps(clean(json.loads(data)), ensure_ascii=False, separators=(",", ":")).encode()


def _needles(secrets: Sequence[str]) -> list[bytes]:
    found = {secret.encode(errors="surrogatepass") for secret in secrets if len(secret) >= _SHORTEST}
    return sorted(found, key=len, reverse=True)


def without(content: bytes, secrets: Sequence[str]) -> bytes:
    """Return the content with every secret replaced."""
    for needle in _needles(secrets):
        content = content.replace(needle, _MASK)
    return content


async def without_in_stream(chunks: AsyncIterable[bytes], secrets: Sequence[str]) -> AsyncIterator[bytes]:
    """Replace every secret in a stream, also one that is cut between two chunks."""
    needles = _needles(secrets)
    if not needles:
        async for chunk in chunks:
            yield chunk
        return
    held_back = len(needles[0]) - 1
    rest = b""
    async for chunk in chunks:
        rest = without(rest + chunk, secrets)
        # The end may hold the beginning of a secret.
        if len(rest) > held_back:
            cut = len(rest) - held_back
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest
