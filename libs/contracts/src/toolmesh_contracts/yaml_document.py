"""Reads YAML into a tree with positions, under bounds, and without YAML 1.1's surprises.

The tree is built from libyaml's events, so nesting, aliases and duplicates are judged before anything grows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml

from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_contracts.document import (
    MAX_DEPTH,
    MAX_NODES,
    Document,
    ListNode,
    MappingEntry,
    MappingNode,
    Node,
    ScalarNode,
    decode_text,
    depth_of,
    read_text,
    weight_of,
)
from toolmesh_contracts.yaml_scalars import AmbiguousScalarError, resolve_plain

__all__ = ["MAX_YAML_BYTES", "parse_yaml", "read_yaml"]

MAX_YAML_BYTES: Final = 4 * 1024 * 1024
"""Largest YAML file."""

_MAX_PROBLEMS: Final = 100
_STANDARD: Final = "tag:yaml.org,2002:"
_TEXT_TAGS: Final = frozenset({"!", f"{_STANDARD}str"})
_COLLECTION_TAGS: Final = frozenset({None, "!", f"{_STANDARD}map", f"{_STANDARD}seq"})


def read_yaml(path: Path) -> Document:
    """Read a YAML file.

    Raises:
        ConfigError: unreadable, too large, no valid YAML, duplicate keys, tags, ambiguous scalars; all of these at once
            where the syntax allows to go on.
    """
    return parse_yaml(read_text(path, MAX_YAML_BYTES), str(path))


def parse_yaml(text: str | bytes, source: str) -> Document:
    """Read YAML from a text; `source` names it in problems. Raises ConfigError as `read_yaml` does."""
    if isinstance(text, bytes):
        text = decode_text(text, source, MAX_YAML_BYTES)
    builder = _Builder(source)
    try:
        for event in _events(text):
            builder.feed(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = f"this is not valid YAML: {error.problem or error.context}"
        builder.problems.append(Problem(file=source, line=mark.line + 1 if mark else None, message=message))
    except yaml.YAMLError as error:
        builder.problems.append(Problem(file=source, message=f"this is not valid YAML: {error}"))
    if builder.problems:
        raise ConfigError(builder.problems)
    return Document(source, builder.root or ScalarNode(None, 1, 1, plain=True))


def _events(text: str) -> Iterator[Any]:
    # Lone surrogates can't be encoded for libyaml; they only come from texts that a program made.
    yield from yaml.parse(text.encode("utf-8", "replace"), Loader=yaml.CSafeLoader)


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been read yet."""

    line: int
    column: int
    is_mapping: bool
    anchor: str | None
    items: list[Node] = field(default_factory=list)
    entries: dict[str, MappingEntry] = field(default_factory=dict)
    merged: list[MappingNode] = field(default_factory=list)
    key: tuple[str, bool, int, int] | None = None
    weight: int = 1
    depth: int = 1


class _Builder:
    """Turns events into nodes; collects the problems that don't stop the reading."""

    def __init__(self, source: str) -> None:
        self.problems: list[Problem] = []
        self.root: Node | None = None
        self._source = source
        self._stack: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._documents = 0

    def feed(self, event: Any) -> None:
        """Take one event; raises ConfigError where going on makes no sense."""
        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event, line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open(event, line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._stop(line, "a second document (`---`) is not allowed; use one file for each")

    def _stop(self, line: int, message: str) -> NoReturn:
        raise ConfigError([*self.problems, Problem(file=self._source, line=line, message=message)])

    def _note(self, line: int, message: str, found: str = "") -> None:
        if len(self.problems) >= _MAX_PROBLEMS:
            self._stop(line, "too many problems; the rest of the file was not read")
        self.problems.append(Problem(file=self._source, line=line, message=message, found=found))

    def _scalar(self, event: Any, line: int) -> None:
        column = event.start_mark.column + 1
        parent = self._stack[-1] if self._stack else None
        if parent and parent.is_mapping and parent.key is None:
            self._key(parent, event, line, column)
            return
        plain = bool(event.implicit[0]) and event.tag is None
        value: str | int | float | bool | None = event.value
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            self._note(line, "tags are not used in configuration", found=_tag(event.tag))
        elif plain:
            try:
                value = resolve_plain(event.value)
            except AmbiguousScalarError as error:
                self._note(line, str(error))
        node = ScalarNode(value, line, column, plain)
        self._remember(event.anchor, node)
        self._add(node, line)

    def _key(self, parent: _Open, event: Any, line: int, column: int) -> None:
        merge = event.value == "<<" and bool(event.implicit[0])
        if event.value in parent.entries and not merge:
            first = parent.entries[event.value].line
            self._note(line, f"the key {event.value!r} is there twice, first on line {first}; keep one")
        parent.key = (event.value, merge, line, column)

    def _alias(self, event: Any, line: int) -> None:
        node = self._anchors.get(event.anchor)
        if node is None:
            self._stop(line, f"the alias *{event.anchor} has no anchor &{event.anchor} that ends before it")
        self._add(node, line)

    def _open(self, event: Any, line: int) -> None:
        if event.tag not in _COLLECTION_TAGS:
            self._note(line, "tags are not used in configuration", found=_tag(event.tag))
        parent = self._stack[-1] if self._stack else None
        if parent and parent.is_mapping and parent.key is None:
            self._stop(line, "a key must be a text, not a list or mapping")
        if len(self._stack) >= MAX_DEPTH:
            self._stop(line, f"nested deeper than {MAX_DEPTH} levels")
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        self._stack.append(_Open(line, event.start_mark.column + 1, is_mapping, event.anchor))

    def _close(self) -> None:
        done = self._stack.pop()
        node: Node
        if done.is_mapping:
            entries = dict(done.entries)
            for merged in done.merged:
                entries = {**merged.entries, **entries}
            node = MappingNode(entries, done.line, done.column, done.weight, done.depth)
        else:
            node = ListNode(tuple(done.items), done.line, done.column, done.weight, done.depth)
        self._remember(done.anchor, node)
        self._add(node, done.line)

    def _remember(self, anchor: str | None, node: Node) -> None:
        if anchor is not None:
            self._anchors[anchor] = node

    def _add(self, node: Node, line: int) -> None:
        if not self._stack:
            self.root = node
            return
        parent = self._stack[-1]
        parent.weight += weight_of(node)
        parent.depth = max(parent.depth, depth_of(node) + 1)
        if parent.weight > MAX_NODES:
            self._stop(line, f"more than {MAX_NODES} values, aliases expanded")
        if parent.depth > MAX_DEPTH:
            self._stop(line, f"nested deeper than {MAX_DEPTH} levels, aliases expanded")
        if not parent.is_mapping:
            parent.items.append(node)
            return
        if parent.key is None:
            self._stop(line, "an alias can't be a key; write the key out")
        name, merge, key_line, column = parent.key
        parent.key = None
        if merge:
            self._merge(parent, node, key_line)
        else:
            parent.entries[name] = MappingEntry(key_line, column, node)

    def _merge(self, parent: _Open, node: Node, line: int) -> None:
        sources = node.items if isinstance(node, ListNode) else (node,)
        for source in sources:
            if isinstance(source, MappingNode):
                parent.merged.append(source)
            else:
                self._note(line, "`<<` merges mappings only")


def _tag(tag: str) -> str:
    return f"!!{tag.removeprefix(_STANDARD)}" if tag.startswith(_STANDARD) else tag
