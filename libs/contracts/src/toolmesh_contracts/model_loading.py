"""From a file to a checked model: parse, fill variables in, validate, and say every problem with its line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from toolmesh_contracts.config_problems import ConfigError, ConfigPath, Problem, describe, nearest
from toolmesh_contracts.document import Document, child, plain_value
from toolmesh_contracts.model_fields import allowed_keys, allowed_tags, description_of
from toolmesh_contracts.toml_document import read_toml
from toolmesh_contracts.variables import expand
from toolmesh_contracts.yaml_document import read_yaml

__all__ = ["Loaded", "check", "load_model", "read_document"]

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

_SECRET_KEY = re.compile(
    r"secret|token(?!_url)|password|passwd|api_?key|credential(?!_key)|connection_string|database_url|private|service_account",
    re.IGNORECASE,
)
_ONLY_A_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_QUOTED = re.compile(r"'([^']*)'")
_SHOULD_BE: Final = "Input should be "
_KINDS: Final[Mapping[str, str]] = {
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "a text; put it in quotes",
}


@dataclass(frozen=True, slots=True)
class Loaded(Generic[M]):
    """A model with the file that it came from.

    Attributes:
        model: The checked values.
        document: The file, for the lines of later problems.
        referenced: Paths of the values that hold a variable: secret, unless known better.
    """

    model: M
    document: Document
    referenced: frozenset[ConfigPath]


def read_document(path: Path) -> Document:
    """Read a YAML or (by its suffix) TOML file. Raises ConfigError."""
    return read_toml(path) if path.suffix.lower() == ".toml" else read_yaml(path)


def load_model(path: Path, model: type[M], environment: Mapping[str, str] | None) -> Loaded[M]:
    """Load a configuration file.

    Args:
        path: A YAML file, or a TOML one by its suffix.
        model: What the file must hold.
        environment: Variables to fill in; None leaves `${…}` alone, as is right for files of strangers.

    Raises:
        ConfigError: with every problem of the file; what unset variables would hold is not judged.
    """
    document = read_document(path)
    if environment is None:
        return Loaded(check(TypeAdapter(model), model, document, document.value()), document, frozenset())
    expansion = expand(document, environment)
    checked = check(TypeAdapter(model), model, document, expansion.value, unset=expansion.problems)
    return Loaded(checked, document, expansion.referenced)


def check(
    adapter: TypeAdapter[T],
    shape: Any,
    document: Document,
    value: Any,
    path: ConfigPath = (),
    *,
    unset: Sequence[Problem] = (),
) -> T:
    """Validate one part of a document.

    Args:
        adapter: Pydantic's validator of `shape`.
        shape: The model or annotated type that `value` must have.
        document: Where the value comes from.
        value: The value, variables filled in.
        path: Where it is in the document.
        unset: Variables of this part that could not be filled in: what they would hold is not judged.

    Raises:
        ConfigError: with every problem found.
    """
    try:
        checked = adapter.validate_python(value)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        found = [_problem(document, path, shape, detail) for detail in details]
        raise ConfigError([*unset, *(one for one in found if not _may_follow(one, unset))]) from None
    if unset:
        raise ConfigError(unset)
    return checked


def _may_follow(problem: Problem, unset: Sequence[Problem]) -> bool:
    """Say whether a problem may come of a variable that is not set: it is told of the same value or one around it."""
    return any(one.path[: len(problem.path)] == problem.path for one in unset)


def _problem(document: Document, base: ConfigPath, shape: Any, detail: ErrorDetails) -> Problem:
    kind, location, context = detail["type"], detail["loc"], detail.get("ctx", {})
    if kind == "missing":
        parent = _document_path(document, base, location[:-1])
        about = description_of(shape, location)
        return document.problem((*parent, location[-1]), f"this key is required{f': {about}' if about else ''}")
    path = _document_path(document, base, location)
    if kind == "extra_forbidden":
        keys = allowed_keys(shape, location[:-1])
        return document.problem(path, "unknown key", allowed=", ".join(keys), near=nearest(str(location[-1]), keys))
    if kind in {"union_tag_not_found", "union_tag_invalid"}:
        key = context["discriminator"].strip("'")
        tags = allowed_tags(shape, location, key)
        return _choice(document, (*path, key), tags)
    if kind in {"literal_error", "enum"}:
        return _choice(document, path, tuple(_QUOTED.findall(context["expected"])) or (context["expected"],))
    if kind == "value_error":
        return document.problem(path, str(context["error"]), found=_found(document, path))
    if kind == "too_short":
        least = context["min_length"]
        message = f"should hold at least {least} item{'' if least == 1 else 's'}"
        return document.problem(path, message, found=_found(document, path))
    needed = _KINDS.get(kind) or detail["msg"].removeprefix(_SHOULD_BE)
    return document.problem(path, f"should be {needed}", found=_found(document, path))


def _choice(document: Document, path: ConfigPath, choices: tuple[str, ...]) -> Problem:
    node = document.node(path)
    if node is None:
        return document.problem(path, "this key is required", allowed=", ".join(choices))
    value = plain_value(node)
    near = nearest(value, choices) if isinstance(value, str) else ""
    found = _found(document, path)
    return document.problem(path, "this value is not allowed", found=found, allowed=", ".join(choices), near=near)


def _document_path(document: Document, base: ConfigPath, location: tuple[str | int, ...]) -> ConfigPath:
    """Return where an error is in the document: without the union tags that pydantic writes into `loc`."""
    path = base
    node = document.node(base)
    for part in location:
        inner = child(node, part) if node is not None else None
        if inner is not None:
            path, node = (*path, part), inner
    return path


def _found(document: Document, path: ConfigPath) -> str:
    """Describe the value as it stands in the file, so that a variable's value is never shown, nor a literal secret."""
    node = document.node(path)
    if node is None:
        return ""
    value = plain_value(node)
    is_secret = any(isinstance(part, str) and _SECRET_KEY.search(part) for part in path)
    if not is_secret or value is None or isinstance(value, bool | dict | list):
        return describe(value)
    return describe(value) if _ONLY_A_REFERENCE.fullmatch(str(value)) else "a value that is not shown"
