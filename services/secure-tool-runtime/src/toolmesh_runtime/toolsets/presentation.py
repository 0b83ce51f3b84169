"""What the catalog says of a tool, made of what published SDKs put into `--schema`.

Their providers give the whole docstring as the description, their functions repeat the `Args:` block in the
instructions, and an optional artifact has the schema of the object that it is inside the tool.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from toolmesh_contracts.tool_description import ToolDescription
from toolmesh_runtime.arguments.artifact_names import with_artifact_schemas

__all__ = ["presented"]

_BLOCK: Final = re.compile(r"(?:Args|Arguments|Parameters):\s*")
_ENTRY: Final = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*\S")
_INJECTED: Final = frozenset({"self", "cls", "ctx", "context", "tool_context", "tool_config"})


def presented(said: ToolDescription) -> ToolDescription:
    """Return a description for models: the first paragraph, the rest as instructions, and a schema they can follow."""
    parameters = with_artifact_schemas(said.parameters, said.artifact_params)
    first, _, rest = said.description.strip().partition("\n\n")
    rest = without_argument_texts(rest, parameters)
    instructions = without_argument_texts(said.instructions, parameters)
    return msgspec.structs.replace(
        said,
        description=" ".join(first.split()),
        parameters=parameters,
        instructions="\n\n".join(part for part in (rest, instructions) if part),
    )


def without_argument_texts(text: str, parameters: Mapping[str, Any]) -> str:
    """Return a docstring's text without an `Args:` block, if the parameters' own descriptions say all it says."""
    lines = text.strip("\n").splitlines()
    start = next((number for number, line in enumerate(lines) if _BLOCK.fullmatch(line.strip())), None)
    if start is None:
        return text.strip()
    margin = _margin(lines[start])
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or _margin(lines[end]) > margin):
        end += 1
    if not _all_said(lines[start + 1 : end], parameters):
        return text.strip()
    return "\n".join([*lines[:start], *lines[end:]]).strip()


def _all_said(block: Iterable[str], parameters: Mapping[str, Any]) -> bool:
    properties = parameters.get("properties")
    known = properties if isinstance(properties, dict) else {}
    filled = [line for line in block if line.strip()]
    margin = min(map(_margin, filled), default=0)
    for line in filled:
        if _margin(line) > margin:
            continue
        entry = _ENTRY.match(line.strip())
        if entry is None:
            return False
        schema = known.get(entry[1])
        said = isinstance(schema, dict) and bool(schema.get("description"))
        if not said and (entry[1] in known or entry[1] not in _INJECTED):
            return False
    return True


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())
