"""The annotation table: what each annotation advertises, and that a value sent by that schema arrives as its type."""

# ruff: noqa: UP045 - the old forms of annotations are what is tested here
import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Optional
from uuid import UUID

import jsonschema
import pytest
from pydantic import Field, conint
from tests.support.annotation_table import ARTIFACTS, CONTEXTS, INTEGER, ROWS, STRING, UNANNOTATED
from tests.toolsets.annotated.kinds import Color, Pair, Person, Place, Plain, Tree
from tests.toolsets.annotated.models import Address, House

from toolmesh_sdk import Artifact, DataObject, ToolResult
from toolmesh_sdk.artifacts import DeliveredArtifacts
from toolmesh_sdk.errors import InvalidArgumentsError
from toolmesh_sdk.function_tool import FunctionTool


def tool_with(annotation: Any) -> FunctionTool:
    """Return a tool whose one parameter has this annotation."""

    def run(p):  # type: ignore[no-untyped-def]
        """Take p."""

    if annotation is not UNANNOTATED:
        run.__annotations__["p"] = annotation
    return FunctionTool(run)


def built(tool: FunctionTool, value: Any) -> Any:
    """Return what arrives when a model sends a value."""
    return tool.build_arguments({"p": value}, DeliveredArtifacts({}, {}))["p"]


@pytest.mark.parametrize(
    ("annotation", "expected", "sent", "arrives"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_each_annotation_is_advertised_faithfully_and_built(
    annotation: Any, expected: dict[str, Any] | None, sent: Any, arrives: Any
) -> None:
    """Every row of the contract's annotation table, and those it was missing."""
    tool = tool_with(annotation)
    schema = tool.parameters_schema
    if expected is not None:
        assert schema["properties"]["p"] == expected
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate({"p": sent})
    value = built(tool, sent)
    assert value == arrives if not isinstance(arrives, DataObject | ToolResult) else vars(value) == vars(arrives)
    assert type(value) is type(arrives)


def test_a_class_with_an_annotated_constructor_is_an_object() -> None:
    """Attrs classes and plain ones need no special support."""
    tool = tool_with(Plain)
    assert tool.parameters_schema["properties"]["p"] == {
        "type": "object",
        "properties": {"width": INTEGER, "height": {"type": "number", "default": 1.0}},
        "required": ["width"],
    }
    plain = built(tool, {"width": "3"})
    assert (plain.width, plain.height) == (3, 1.0)


def test_recursive_types_use_definitions_and_each_class_keeps_its_own_name() -> None:
    """A recursive dataclass used to end discovery with RecursionError."""
    other: dict[str, Any] = {}
    source = "from dataclasses import dataclass\n@dataclass\nclass Tree:\n    leaf: 'Tree | None' = None\n"
    exec(source, other)  # noqa: S102 - a second class of the same name

    def run(a, b):  # type: ignore[no-untyped-def]
        """Take two."""

    run.__annotations__.update(a=Tree, b=other["Tree"])
    schema = FunctionTool(run).parameters_schema
    assert schema["properties"] == {"a": {"$ref": "#/$defs/Tree"}, "b": {"$ref": "#/$defs/Tree2"}}
    assert set(schema["$defs"]) == {"Tree", "Tree2"}
    assert schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    jsonschema.Draft202012Validator(schema).validate({"a": {"name": "x"}, "b": {"leaf": {}}})


def test_pydantic_definitions_are_lifted_to_the_top() -> None:
    """References inside a model's schema must resolve in the schema that the model is part of."""
    schema = tool_with(House).parameters_schema
    assert schema["$defs"]["Address"]["properties"]["street"]["description"] == "The street."
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({"p": {"addresses": [{"kind": "home"}]}})


@pytest.mark.parametrize(
    ("annotation", "expected", "is_list", "is_optional"),
    [row[1:] for row in ARTIFACTS],
    ids=[row[0] for row in ARTIFACTS],
)
def test_artifact_parameters_are_file_names_and_declared_to_the_host(
    annotation: Any, expected: dict[str, Any], is_list: bool, is_optional: bool, tmp_path: Path
) -> None:
    """Optional ones used to be advertised as an object with a `content` field."""
    tool = tool_with(annotation)
    schema = tool.parameters_schema
    assert schema["properties"]["p"] == expected
    assert ("required" not in schema) is is_optional
    info = tool.artifact_params["p"]
    assert (info.is_list, info.is_optional) == (is_list, is_optional)
    (tmp_path / "f").write_bytes(b"x")
    details = {"filename": "f", "local_path": str(tmp_path / "f"), "version": 2, "mime_type": "text/plain"}
    files = DeliveredArtifacts({"p[0]" if is_list else "p": details}, {})
    value = tool.build_arguments({"p": ["f"] if is_list else "f"}, files)["p"]
    (loaded,) = value if is_list else (value,)
    assert (loaded.as_text(), loaded.version) == ("x", 2)


def test_a_dictionary_of_artifacts_is_filled_by_name() -> None:
    """A host can only deliver single files and lists, so each name must have come along for another parameter."""
    tool = tool_with(dict[str, Artifact])
    assert tool.parameters_schema["properties"]["p"] == {"type": "object", "additionalProperties": STRING}
    assert tool.artifact_params == {}
    with pytest.raises(InvalidArgumentsError, match=r"p\[a\]: artifact 'x' did not come with this call"):
        built(tool, {"a": "x"})


@pytest.mark.parametrize("annotation", [row[1] for row in CONTEXTS], ids=[row[0] for row in CONTEXTS])
def test_the_context_is_no_parameter_under_any_annotation(annotation: Any) -> None:
    """A model can't send it."""
    assert tool_with(annotation).parameters_schema == {"type": "object", "properties": {}}


REFUSED = [
    (int, "x", "p must be a whole number, got 'x'"),
    (int, True, "p must be a whole number, got True"),
    (int, 1.5, "p must be a whole number, got 1.5"),
    (float, "nan", "p must be a number that is finite, got 'nan'"),
    (float, [], "p must be a number, got []"),
    (bool, "maybe", "p must be true or false, got 'maybe'"),
    (str, ["a"], "p must be text, got ['a']"),
    (str, None, "p must be text, got None"),
    (list[int], ["1", "b"], "p[1] must be a whole number, got 'b'"),
    (list[int], "no list", "p must be a list, got 'no list'"),
    (tuple[int, str], [1], "p must be a list of 2 values, got [1]"),
    (dict[str, int], {"k": "v"}, "p[k] must be a whole number, got 'v'"),
    (set[Any], [[1]], "p must hold values that can be in a set"),
    (Literal["a", "b"], "c", "p must be one of 'a', 'b', got 'c'"),
    (Color, "green", "p must be one of 'red', 'blue', got 'green'"),
    (int | list[int], "x", "p must be a whole number, got 'x' or p must be a list, got 'x'"),
    (Place, {}, "p lacks name"),
    (Place, {"name": "x", "zip": 1}, "p has no field zip (it has name, pos, tags)"),
    (Place, {"name": "x", "pos": {"name": "y", "age": "old"}}, "p.pos.age must be a whole number, got 'old'"),
    (Place, 5, "p must be an object (name, pos, tags), got 5"),
    (Address, {"kind": "x"}, "p.street: Field required; p.kind: Input should be 'home' or 'work'"),
    (dt.date, "tomorrow", "p must be a date like 2026-01-31, got 'tomorrow'"),
    (UUID, "x", "p must be a UUID, got 'x'"),
    (Decimal, "NaN", "p must be a decimal number, got 'NaN'"),
    (bytes, "not base64!", "p must be bytes in base64 (standard alphabet), got 'not base64!'"),
    (conint(ge=1), 0, "p must be a value with minimum 1, got 0"),
    (Annotated[str, Field(pattern="^a")], "b", "p must be a value with pattern ^a, got 'b'"),
    (Annotated[list[int], Field(max_length=1)], [1, 2], "p must be a value with maxItems 1, got [1, 2]"),
    (Artifact, "gone.txt", "p: artifact 'gone.txt' did not come with this call (delivered: none)"),
    (list[Artifact], ["gone.txt"], "p[0]: artifact 'gone.txt' did not come with this call (delivered: none)"),
]


@pytest.mark.parametrize(("annotation", "sent", "message"), REFUSED, ids=[f"{row[0]} {row[1]}"[:60] for row in REFUSED])
def test_what_does_not_fit_is_refused_by_place_and_expectation(annotation: Any, sent: Any, message: str) -> None:
    """The tool never sees a wrong type, and the model reads what to send instead."""
    with pytest.raises(InvalidArgumentsError) as caught:
        built(tool_with(annotation), sent)
    assert caught.value.problems == [message]


LENIENT = [
    (int, " 12 ", 12),
    (int, "1_000", 1000),
    (int, "2.0", 2),
    (int, 2.0, 2),
    (float, "1e3", 1000.0),
    (bool, "TRUE", True),
    (bool, 0, False),
    (str, 5, "5"),
    (list[int], "[1, 2]", [1, 2]),
    (Person, '{"name": "A", "age": "3"}', {"name": "A", "age": 3}),
    (Person, {"name": "A", "age": 3, "extra": 1}, {"name": "A", "age": 3, "extra": 1}),
    (Literal[1, 2], "2", 2),
    (Color, "RED", Color.RED),
    (Optional[int], "null", None),
    (Pair, [1, "x"], Pair(1, "x")),
]


@pytest.mark.parametrize(("annotation", "sent", "arrives"), LENIENT, ids=[f"{row[0]} {row[1]}"[:60] for row in LENIENT])
def test_what_models_write_for_a_type_is_taken(annotation: Any, sent: Any, arrives: Any) -> None:
    """Numbers and objects in quotes are common; the meaning is plain."""
    value = built(tool_with(annotation), sent)
    assert value == arrives
    assert type(value) is type(arrives)
