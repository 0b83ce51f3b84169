"""Reads JSON, such as an option of a command, into the same tree as a file; all of it has line 1."""

import json
from typing import Any

from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_contracts.document import (
    MAX_DEPTH,
    Document,
    ListNode,
    MappingEntry,
    MappingNode,
    Node,
    ScalarNode,
    depth_of,
    weight_of,
)

__all__ = ["parse_json"]


def parse_json(text: str, source: str) -> Document:
    """Read JSON from a text; `source` names it in problems.

    Raises:
        ConfigError: no JSON, NaN or an infinity, or nested too deeply.
    """
    try:
        return Document(source, _node(json.loads(text, parse_constant=_refuse), 1))
    except (ValueError, RecursionError) as error:
        raise ConfigError([Problem(file=source, message=f"this is no JSON: {error}")]) from error


def _node(value: Any, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        nodes = {key: _node(item, depth + 1) for key, item in value.items()}
        entries = {key: MappingEntry(1, 1, node) for key, node in nodes.items()}
        return MappingNode(entries, 1, 1, *_measures(nodes.values()))
    if isinstance(value, list):
        items = tuple(_node(item, depth + 1) for item in value)
        return ListNode(items, 1, 1, *_measures(items))
    return ScalarNode(value, 1, 1)


def _measures(nodes: Any) -> tuple[int, int]:
    return 1 + sum(map(weight_of, nodes)), 1 + max(map(depth_of, nodes), default=0)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is none")
