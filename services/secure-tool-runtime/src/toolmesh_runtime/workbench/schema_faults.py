"""What a model or an executor could not use in a tool's description, though it can be read."""

from collections.abc import Iterator
from typing import Any

from toolmesh_contracts.tool_description import ToolDescription

__all__ = ["schema_faults"]


def schema_faults(said: ToolDescription) -> Iterator[tuple[str, str]]:
    """Yield each fault with its cure."""
    if not said.description.strip():
        yield "the tool has no description", "write a docstring: the model decides by it when to call the tool"
    if said.parameters.get("type", "object") != "object":
        yield f"parameters has type {said.parameters['type']!r}", 'a tool takes an object: "type": "object"'
        return
    properties: Any = said.parameters.get("properties", {})
    if not isinstance(properties, dict):
        yield "parameters.properties is no object", "list the parameters there, each with its schema"
        return
    for name, schema in properties.items():
        if not isinstance(schema, dict | bool):
            yield f"parameter {name!r} has no schema", 'give it one, such as {"type": "string"}'
    required: Any = said.parameters.get("required", [])
    named = {
        "parameters.required": required if isinstance(required, list) else [required],
        "artifact_params": said.artifact_params,
        "raw_string_args": said.raw_string_args,
    }
    for place, names in named.items():
        for name in names:
            if name not in properties:
                yield f"{place} names {name!r}, which is no parameter", "list it under parameters.properties"
