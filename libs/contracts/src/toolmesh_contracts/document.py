"""A configuration document as a tree that knows the line of every key and value."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from toolmesh_contracts.config_problems import ConfigError, ConfigPath, Problem

__all__ = [
    "MAX_DEPTH",
    "MAX_NODES",
    "Document",
    "ListNode",
    "MappingEntry",
    "MappingNode",
    "Node",
    "ScalarNode",
    "child",
    "decode_text",
    "depth_of",
    "plain_value",
    "read_text",
    "weight_of",
]

MAX_DEPTH = 64
"""Deepest nesting of mappings and lists."""

MAX_NODES = 200_000
"""Most values in one document, each use of a YAML alias counted."""


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A text, number, boolean or nothing; `plain` when it was written without quotes."""

    value: str | int | float | bool | None
    line: int
    column: int
    plain: bool = False


@dataclass(frozen=True, slots=True)
class ListNode:
    """A list."""

    items: tuple["Node", ...]
    line: int
    column: int
    weight: int
    depth: int


@dataclass(frozen=True, slots=True)
class MappingEntry:
    """One value of a mapping, with the place of its key."""

    line: int
    column: int
    node: "Node"


@dataclass(frozen=True, slots=True)
class MappingNode:
    """A mapping; keys are always text."""

    entries: dict[str, MappingEntry]
    line: int
    column: int
    weight: int
    depth: int


Node: TypeAlias = ScalarNode | ListNode | MappingNode


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file."""

    source: str
    root: Node

    def problem(self, path: ConfigPath, message: str, *, found: str = "", allowed: str = "", near: str = "") -> Problem:
        """Return a problem at `path`, with the line of the nearest key that exists."""
        return Problem(
            file=self.source,
            line=self.position(path)[0],
            path=path,
            message=message,
            found=found,
            allowed=allowed,
            suggestion=near,
        )

    def position(self, path: ConfigPath) -> tuple[int, int]:
        """Return line and column (from 1) of the key or item at `path`, or of its nearest existing parent."""
        place = (self.root.line, self.root.column)
        node: Node = self.root
        for part in path:
            if isinstance(node, MappingNode) and isinstance(part, str) and part in node.entries:
                entry = node.entries[part]
                place, node = (entry.line, entry.column), entry.node
            elif isinstance(node, ListNode) and isinstance(part, int) and 0 <= part < len(node.items):
                node = node.items[part]
                place = (node.line, node.column)
            else:
                break
        return place

    def node(self, path: ConfigPath) -> Node | None:
        """Return the node at `path`, or None when nothing is there."""
        node: Node | None = self.root
        for part in path:
            node = None if node is None else child(node, part)
        return node

    def value(self) -> Any:
        """Return the document as dicts, lists and scalars; every call builds new ones."""
        return plain_value(self.root)


def plain_value(node: Node) -> Any:
    """Return a node as dicts, lists and scalars."""
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, ListNode):
        return [plain_value(item) for item in node.items]
    return {key: plain_value(entry.node) for key, entry in node.entries.items()}


def child(node: Node, part: str | int) -> Node | None:
    """Return what a key or index of a node holds, or None when it has none such."""
    if isinstance(node, MappingNode) and isinstance(part, str):
        entry = node.entries.get(part)
        return entry.node if entry else None
    if isinstance(node, ListNode) and isinstance(part, int) and 0 <= part < len(node.items):
        return node.items[part]
    return None


def weight_of(node: Node) -> int:
    """Return how many values a node holds, itself included and aliases expanded."""
    return 1 if isinstance(node, ScalarNode) else node.weight


def depth_of(node: Node) -> int:
    """Return how many mappings and lists lie in one another at a node, aliases expanded."""
    return 0 if isinstance(node, ScalarNode) else node.depth


def read_text(path: Path, max_bytes: int) -> str:
    """Return a configuration file's text.

    Raises:
        ConfigError: the file is missing, unreadable, no regular file, over `max_bytes` or not UTF-8.
    """
    source = str(path)
    try:
        if path.exists() and not path.is_file():
            raise ConfigError([Problem(file=source, message="this is no regular file")])
        with path.open("rb") as file:
            raw = file.read(max_bytes + 1)
    except OSError as error:
        raise ConfigError([Problem(file=source, message=f"can't read the file: {error.strerror}")]) from error
    return decode_text(raw, source, max_bytes)


def decode_text(raw: bytes, source: str, max_bytes: int) -> str:
    """Decode UTF-8, with or without a byte order mark.

    Raises:
        ConfigError: over `max_bytes`, or not UTF-8.
    """
    if len(raw) > max_bytes:
        message = f"the file is larger than {max_bytes} bytes; split it"
        raise ConfigError([Problem(file=source, message=message)])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"byte {error.start} (0x{raw[error.start]:02x}) is not UTF-8; save the file as UTF-8"
        raise ConfigError([Problem(file=source, line=line, message=message)]) from error
