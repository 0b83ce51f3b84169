"""Takes a call's own secrets out of all that its tool said and left."""

import codecs
import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import msgspec

from toolmesh_contracts.sealed_config import texts_of
from toolmesh_runtime.process.result_envelope import DataObject, ToolReturn
from toolmesh_sandbox.outputs import OutputFile
from toolmesh_telemetry.redaction import MIN_SECRET_CHARS, Redactor, is_short_secret

__all__ = ["redacted", "redacted_index", "without", "without_in_names", "without_in_stream", "worth_hiding"]

_MASK: Final = b"[redacted]"


def worth_hiding(secrets: Sequence[str], config: Mapping[str, Any], declared: Collection[str]) -> tuple[str, ...]:
    """Return the secrets to look for: short ones only if the tool declares their setting secret.

    A variable's value such as `en` or `10` is a word of many honest texts.

    Args:
        secrets: Everything of the configuration that was sealed.
        config: The whole configuration.
        declared: Settings that the tool declares secret.
    """
    sure = {text for key in declared for text in texts_of(config.get(key))}
    return tuple(secret for secret in secrets if len(secret) >= MIN_SECRET_CHARS or secret in sure)


def redacted(returned: ToolReturn, secrets: tuple[str, ...]) -> ToolReturn:
    """Return what a tool said without the secrets it was given; its data and files too, as they are stored in clear.

    Only the call's own secrets are looked for: a tool may well return something that looks like a token.
    """
    if not secrets:
        return returned
    hide = _hider(secrets)
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
        mime_type=hide.exact(item.mime_type),
        content=content,
        description=None if item.description is None else hide.exact(item.description),
        preview=None if item.preview is None else hide.exact(item.preview),
        metadata=metadata,
    )


def _redacted_json(data: bytes, hide: Redactor) -> bytes:
    return json.dumps(_redacted_value(json.loads(data), hide), ensure_ascii=False, separators=(",", ":")).encode()


def redacted_index(index: dict[str, dict[str, Any]], secrets: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return what a tool says of its files without the secrets; names are changed as by `without_in_names`."""
    return cast("dict[str, dict[str, Any]]", _redacted_value(index, _hider(secrets)))


def without_in_names(
    files: Mapping[str, OutputFile], notes: Sequence[str], secrets: tuple[str, ...]
) -> tuple[dict[str, OutputFile], list[str]]:
    """Return files under names without secrets, and the notes on files; of two that then have one name the first."""
    hide = _hider(secrets)
    clean: dict[str, OutputFile] = {}
    told = [hide.exact(note) for note in notes]
    for name, file in files.items():
        shown = hide.exact(name)
        if shown in clean:
            told.append(f"output file {shown!r} is there twice, but for secrets in the names; one was kept")
        else:
            clean[shown] = file
    return clean, told


def _hider(secrets: tuple[str, ...]) -> Redactor:
    hide = Redactor()
    hide.add(*secrets)
    return hide


def _redacted_value(value: Any, hide: Redactor) -> Any:
    if isinstance(value, str):
        return hide.exact(value)
    if isinstance(value, list):
        return [_redacted_value(item, hide) for item in value]
    if isinstance(value, dict):
        return {hide.exact(key): _redacted_value(item, hide) for key, item in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = str(value)
        return value if (clean := hide.exact(text)) == text else clean
    return value


@dataclass(frozen=True, slots=True)
class _Needles:
    """What to look for in bytes: secrets anywhere, and short ones as words of their own."""

    anywhere: tuple[bytes, ...]
    words: re.Pattern[bytes] | None
    longest: int
    """In bytes."""

    def replaced(self, content: bytes, before: bytes = b"", *, ended: bool = True) -> bytes:
        """Return the content with all of them replaced.

        Args:
            content: What to look through.
            before: The byte that stands before it, if any.
            ended: Nothing follows; else whether a word ends at the content's end is not known, and it stays.
        """
        for needle in self.anywhere:
            content = content.replace(needle, _MASK)
        if self.words is None:
            return content
        whole, parts, done = before + content, [], len(before)
        for found in self.words.finditer(whole, done):  # it looks behind its start, but begins no word there
            if ended or found.end() < len(whole):
                parts += [whole[done : found.start()], _MASK]
                done = found.end()
        return b"".join((*parts, whole[done:]))


def _needles(secrets: Sequence[str], beginning: bytes) -> _Needles:
    """Return what to look for in a content of this beginning: in what is no text, short secrets are mere chance."""
    anywhere = {_bytes_of(secret) for secret in secrets if len(secret) >= MIN_SECRET_CHARS}
    short = {_bytes_of(secret) for secret in secrets if is_short_secret(secret)} if _is_text(beginning) else set()
    pattern = b"|".join(re.escape(secret) for secret in sorted(short, key=len, reverse=True))
    # Bytes from 0x80 on belong to letters beyond ASCII.
    words = re.compile(rb"(?<![\w\x80-\xff])(?:" + pattern + rb")(?![\w\x80-\xff])") if pattern else None
    return _Needles(tuple(sorted(anywhere, key=len, reverse=True)), words, max(map(len, anywhere | short), default=0))


def _bytes_of(secret: str) -> bytes:
    return secret.encode(errors="surrogatepass")


def _is_text(beginning: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)  # its last character may be cut
    except UnicodeDecodeError:
        return False
    return b"\0" not in beginning


def without(content: bytes, secrets: Sequence[str]) -> bytes:
    """Return the content with every secret replaced; in what is no text, those of 4 characters at least."""
    return _needles(secrets, content).replaced(content)


async def without_in_stream(chunks: AsyncIterable[bytes], secrets: Sequence[str]) -> AsyncIterator[bytes]:
    """Replace every secret in a stream as `without` does, also one that is cut between two chunks."""
    needles: _Needles | None = None
    before = rest = b""
    async for chunk in chunks:
        needles = needles or _needles(secrets, chunk)
        rest = needles.replaced(rest + chunk, before, ended=False)
        # The end may hold the beginning of a secret.
        cut = len(rest) - needles.longest
        if cut > 0:
            yield rest[:cut]
            before, rest = rest[cut - 1 : cut], rest[cut:]
    if needles is not None and rest:
        yield needles.replaced(rest, before)
