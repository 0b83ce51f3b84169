"""Artifacts as a tool gets them, and the files that came with one call."""

# os.path and open instead of pathlib: a tool process pays for every import, and pathlib's is 3 ms.
# ruff: noqa: PTH116, PTH119, PTH123
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

DEFAULT_MIME_TYPE = "application/octet-stream"


class Artifact:
    """One artifact, loaded: annotate a parameter with it and the model passes a file name.

    Args:
        content: The bytes (always bytes when the host loaded it).
        filename: Its name.
        version: Its version, counted from the store.
        mime_type: Its media type.
        metadata: What the store knows about it.
    """

    def __init__(
        self,
        content: str | bytes,
        filename: str,
        version: int,
        mime_type: str,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.content = content
        self.filename = filename
        self.version = version
        self.mime_type = mime_type
        self.metadata = metadata if metadata is not None else {}

    def as_text(self, encoding: str = "utf-8") -> str:
        """Return the content as text."""
        return self.content if isinstance(self.content, str) else self.content.decode(encoding)

    def as_bytes(self, encoding: str = "utf-8") -> bytes:
        """Return the content as bytes."""
        return self.content.encode(encoding) if isinstance(self.content, str) else self.content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Artifact) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # mutable, as a dataclass would be

    def __repr__(self) -> str:
        return f"Artifact({self.filename!r}, version={self.version}, mime_type={self.mime_type!r})"


class ArtifactTypeInfo:
    """What an annotation says about artifacts."""

    __slots__ = ("is_artifact", "is_list", "is_optional")

    def __init__(self, is_artifact: bool = False, is_list: bool = False, is_optional: bool = False) -> None:
        self.is_artifact = is_artifact
        self.is_list = is_list
        self.is_optional = is_optional

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArtifactTypeInfo) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    __hash__ = None  # type: ignore[assignment]  # mutable, as a dataclass would be

    def __repr__(self) -> str:
        return f"ArtifactTypeInfo({self.is_artifact}, is_list={self.is_list}, is_optional={self.is_optional})"


def get_artifact_info(annotation: object) -> ArtifactTypeInfo:
    """Return whether an annotation, also one written as text, means artifacts, a list of them, and optional."""
    from .parameters.reading import read_annotation

    return artifact_info(read_annotation(annotation, {"Artifact": Artifact}))


def artifact_info(kind: Any) -> ArtifactTypeInfo:
    """Return what a parameter type that was read already says about artifacts."""
    info = ArtifactTypeInfo()
    while True:
        if kind.name == "artifact":
            info.is_artifact = True
            return info
        if kind.name == "optional":
            info.is_optional = info.is_optional or not info.is_list
        elif kind.name == "list":
            info.is_list = True
        else:
            return ArtifactTypeInfo()
        kind = kind.inner


def is_artifact_type(annotation: object) -> bool:
    """Return whether an annotation means an artifact or a list of them."""
    return get_artifact_info(annotation).is_artifact


class DeliveredArtifact:
    """One file that the host laid into the call's input folder."""

    __slots__ = ("filename", "metadata", "mime_type", "path", "version")

    def __init__(self, path: str, details: dict[str, Any]) -> None:
        self.path = path
        self.filename = str(details.get("filename") or os.path.basename(path))
        self.mime_type = str(details.get("mime_type") or DEFAULT_MIME_TYPE)
        self.version = _version_number(details.get("version"))
        # The path is the host's business and would leak into results.
        self.metadata = {key: value for key, value in details.items() if key != "local_path"}

    def read(self) -> bytes:
        """Return the content.

        Raises:
            FileNotFoundError: The host did not lay the file where it said.
        """
        try:
            with open(self.path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise FileNotFoundError(f"artifact {self.filename!r} is not in the input folder") from None

    def size(self) -> int:
        """Return the size in bytes."""
        return os.stat(self.path).st_size

    def load(self) -> Artifact:
        """Return the loaded artifact."""
        return Artifact(self.read(), self.filename, self.version, self.mime_type, dict(self.metadata))


class DeliveredArtifacts:
    """The files of one call, by argument (`doc`, `docs[0]`) and by name and version."""

    __slots__ = ("_by_key",)

    def __init__(self, details: dict[str, Any] | None, paths: dict[str, Any] | None) -> None:
        self._by_key: dict[str, DeliveredArtifact] = {}
        for key, entry in (details or {}).items():
            path = (entry or {}).get("local_path") or (paths or {}).get(key)
            if path:
                self._by_key[key] = DeliveredArtifact(str(path), entry)
        for key, path in (paths or {}).items():
            if path and key not in self._by_key:
                self._by_key[key] = DeliveredArtifact(str(path), {})

    def __iter__(self) -> Iterator[DeliveredArtifact]:
        return iter(self._by_key.values())

    def by_argument(self, key: str) -> DeliveredArtifact | None:
        """Return the file of one argument, or None."""
        return self._by_key.get(key)

    def paths(self) -> dict[str, str]:
        """Return argument key to path."""
        return {key: entry.path for key, entry in self._by_key.items()}

    def names(self) -> list[str]:
        """Return each file name once."""
        return list(dict.fromkeys(entry.filename for entry in self))

    def by_name(self, filename: str, version: int | str = "latest") -> DeliveredArtifact:
        """Return a file by name and version (`latest`: the newest of those delivered).

        Raises:
            FileNotFoundError: Not among the files of this call; the message names those that are.
        """
        named = [entry for entry in self if entry.filename == filename]
        if not named:
            here = ", ".join(sorted(self.names())) or "none"
            raise FileNotFoundError(f"artifact {filename!r} did not come with this call (delivered: {here})")
        if version in ("latest", None):
            return max(named, key=lambda entry: entry.version)
        for entry in named:
            if entry.version == _version_number(version):
                return entry
        here = ", ".join(str(entry.version) for entry in named)
        raise FileNotFoundError(f"version {version} of {filename!r} did not come with this call (delivered: {here})")


def _version_number(version: object) -> int:
    try:
        return int(version)  # type: ignore[call-overload,no-any-return]
    except (TypeError, ValueError):
        return 0
