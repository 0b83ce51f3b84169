"""Values that several messages share."""

from typing import Annotated

import msgspec

__all__ = [
    "ArtifactRef",
    "Caller",
    "Identifier",
    "Milliseconds",
    "PayloadRef",
    "RawJson",
    "Sha256",
    "Usage",
    "VolumeMount",
    "WorkspaceCopy",
]

# Python's `$` also matches before a final line end; the look-ahead closes that and is valid ECMA 262 for the schemas.

Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=96, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$(?!\n)")]
Milliseconds = Annotated[int, msgspec.Meta(ge=0)]
Size = Annotated[int, msgspec.Meta(ge=0)]
RawJson = msgspec.Raw | msgspec.UnsetType
"""JSON bytes that the reader leaves unparsed, or absent."""

Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]


class PayloadRef(msgspec.Struct, frozen=True, kw_only=True):
    """A claim check: bytes too large for a message, kept in the pool's object store."""

    bucket: str
    object: str
    size: Annotated[int, msgspec.Meta(ge=0)]
    """Bytes."""
    sha256: Sha256


class ArtifactRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A named file handed to a tool or made by it."""

    filename: str
    mime_type: str
    size: Annotated[int, msgspec.Meta(ge=0)]
    """Bytes."""
    sha256: Sha256
    payload: PayloadRef
    version: Annotated[int, msgspec.Meta(ge=0)] = 0
    description: str | None = None
    preview: str | None = None
    metadata: dict[str, msgspec.Raw] | None = None
    disposition: str = "artifact"
    """What the tool asked for: auto, artifact, inline or artifact_with_preview."""


class Caller(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """On whose behalf a call runs. The token in the header, not this, decides what is allowed."""

    user: str
    agent: str
    session: str = ""
    task: str = ""
    """Empty for a call that no agent's task made."""


class VolumeMount(msgspec.Struct, frozen=True, kw_only=True):
    """A volume bound into the sandbox."""

    volume_id: str
    mount_path: str
    read_only: bool = True


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a call cost."""

    wall_ms: Milliseconds
    cpu_ms: Milliseconds
    peak_memory_bytes: Size
    read_bytes: Size = 0
    """Read from block devices, not from the page cache."""
    written_bytes: Size = 0
    """Written to block devices."""
    model_calls: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Questions that the tool asked the model and that were answered."""
    model_input_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    model_output_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0


class WorkspaceCopy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a call left the workspace of its turn; the turn's next call names it."""

    state: Identifier
    """Id of this state; the worker that still has it goes on with it."""
    payload: PayloadRef | None = None
    """A tar file of it, from which any other worker restores it; None when it was empty."""
    unstored: bool = False
    """It could not be stored: only the worker that has it can go on with it."""
