"""Carries files between the payload store and a call's workspace, chunk by chunk."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Final

import msgspec

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.ports import PayloadStore
from toolmesh_contracts.envelopes.reply import InlineOutput
from toolmesh_contracts.envelopes.values import ArtifactRef, PayloadRef
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_runtime.process.output_files import FileOutput, InlineContent
from toolmesh_runtime.process.runner_args import CallFolder, InputArtifact
from toolmesh_runtime.process.secret_hiding import without_in_stream
from toolmesh_runtime.process.tool_run import FinishedRun
from toolmesh_sandbox.workspaces import Workspace

__all__ = ["ArtifactError", "StoredOutputs", "place_artifacts", "read_payload", "store_outputs"]

_CHUNK: Final = 1 << 20
_NAME_BYTES: Final = 200


class ArtifactError(ToolmeshError):
    """Raised when an input artifact can't be handed to the tool."""

    default_code = ErrorCode.ARTIFACT_ERROR


@dataclass(frozen=True, slots=True)
class StoredOutputs:
    """A run's outputs as the result names them."""

    artifacts: tuple[ArtifactRef, ...]
    inline: tuple[InlineOutput, ...]
    notes: tuple[str, ...]
    lost: bool = False
    """One could not be stored: the call is not wholly done."""


async def read_payload(payloads: PayloadStore, ref: PayloadRef, limit: int, what: str) -> bytes:
    """Return a stored payload's bytes.

    Raises:
        ToolmeshError: INVALID_ARGUMENTS when it is over `limit` bytes, or the store's error.
    """
    if ref.size > limit:
        message = f"{what} has {ref.size} bytes, at most {limit} are taken"
        raise ToolmeshError(message, code=ErrorCode.INVALID_ARGUMENTS)
    content = bytearray()
    async for chunk in payloads.open(ref):
        content += chunk
    return bytes(content)


async def place_artifacts(
    artifacts: Mapping[str, ArtifactRef], payloads: PayloadStore, workspace: Workspace, folder: CallFolder, limit: int
) -> dict[str, InputArtifact]:
    """Write the input artifacts into the workspace's `input` folder; each has a file of its own.

    Raises:
        ArtifactError: one is missing, corrupt or over `limit` bytes.
    """
    placed = {}
    for number, (key, ref) in enumerate(artifacts.items()):
        if ref.payload.size > limit:
            raise ArtifactError(f"artifact {ref.filename!r} has {ref.payload.size} bytes, at most {limit} are taken")
        name = f"{folder.input.name}/{number}-{_plain(ref.filename)}"
        try:
            with workspace.create_file(name) as file:
                async for chunk in payloads.open(ref.payload):
                    await asyncio.to_thread(file.write, chunk)
        except BrokerError as error:
            raise ArtifactError(f"artifact {ref.filename!r} of {key!r}: {error.message}") from error
        placed[key] = InputArtifact(folder.root / name, ref.filename, ref.mime_type, ref.version, ref.description)
    return placed


def _plain(filename: str) -> str:
    """Return a file name without folders that every file system takes; it keeps the ending."""
    name = "".join("_" if character in "/\\\0" else character for character in filename)
    while len(name.encode(errors="replace")) > _NAME_BYTES:
        name = name[1:]
    return name.encode(errors="replace").decode()


async def store_outputs(
    run: FinishedRun, payloads: PayloadStore, prefix: str, ttl_s: float, secrets: tuple[str, ...] = ()
) -> StoredOutputs:
    """Store a run's files; one that can't be stored becomes a note, and the rest is kept.

    Args:
        run: The finished run, its files still open.
        payloads: The pool's store.
        prefix: Unique start of the stored objects' names.
        ttl_s: Seconds that they are kept.
        secrets: Texts that are taken out of them.
    """
    artifacts, notes, lost = [], list(run.outputs.notes), False
    for number, output in enumerate(run.outputs.files):
        if problem := _name_problem(output.name):
            notes.append(f"output {output.name[:80]!r} was refused: {problem}")
            continue
        try:
            ref = await payloads.put(f"{prefix}.{number}", without_in_stream(_content(run, output), secrets), ttl_s)
        except BrokerError as error:
            notes.append(f"output {output.name!r} could not be stored: {error.message}")
            lost = True
            continue
        artifacts.append(_artifact(output, ref))
    inline = tuple(_inline(content) for content in run.outputs.inline)
    return StoredOutputs(tuple(artifacts), inline, tuple(notes), lost)


def _name_problem(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or "\\" in name:
        return "its name leaves the output folder"
    return "its name is too long" if len(name.encode(errors="replace")) > _NAME_BYTES else ""


async def _content(run: FinishedRun, output: FileOutput) -> AsyncIterator[bytes]:
    if output.content is not None:
        for start in range(0, len(output.content), _CHUNK):
            yield output.content[start : start + _CHUNK]
        return
    file: BinaryIO
    with run.files[output.name].open() as file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk


def _artifact(output: FileOutput, ref: PayloadRef) -> ArtifactRef:
    return ArtifactRef(
        filename=output.name,
        mime_type=output.mime_type,
        size=ref.size,
        sha256=ref.sha256,
        payload=ref,
        description=output.description,
        preview=output.preview,
        metadata=_raw_values(output.metadata),
        disposition=output.disposition,
    )


def _inline(content: InlineContent) -> InlineOutput:
    text = content.content.decode() if content.is_text else base64.b64encode(content.content).decode("ascii")
    return InlineOutput(
        name=content.name,
        mime_type=content.mime_type,
        content=text,
        is_binary=not content.is_text,
        description=content.description,
        metadata=_raw_values(content.metadata),
    )


def _raw_values(metadata: Mapping[str, Any] | None) -> dict[str, msgspec.Raw] | None:
    if metadata is None:
        return None
    return {key: msgspec.Raw(json.dumps(value).encode()) for key, value in metadata.items()}
