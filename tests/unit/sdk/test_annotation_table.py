"""The annotation table: what each annotation advertises, and that a value sent by that schema arrives as its type."""

# ruff: noqa: UP006, UP007, UP035, UP045 - the old forms of annotations are what is tested here
import datetime as dt
import enum
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Dict, List, Literal, NamedTuple, NewType, Optional, Type, TypedDict, TypeVar, Union
from uuid import UUID

import jsonschema
import pytest
from pydantic import BaseModel, Field, conint
from typing_extensions import NotRequired, Required
from typing_extensions import TypedDict as ExtensionsTypedDict

from toolmesh_sdk import Artifact, DataDisposition, DataObject, SandboxToolContextFacade, ToolResult
from toolmesh_sdk.artifacts import DeliveredArtifacts
from toolmesh_sdk.errors import InvalidArgumentsError
from toolmesh_sdk.function_tool import FunctionTool


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class TextColor(str, enum.Enum):  # noqa: UP042 - the form that people write
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Shape(enum.Enum):
    DOT = (0, 0)


class Person(TypedDict):
    name: str
    age: int


class Loose(TypedDict, total=False):
    name: str
    age: Required[int]


class Partly(ExtensionsTypedDict):
    name: str
    age: NotRequired[int]


@dataclass
class Place:
    """A place on the map.

    Attributes:
        name: What it is called.
    """

    name: str
    pos: Person | None = None
    tags: list[str] = field(default_factory=list)


@dataclass
class Tree:
    name: str
    children: "list[Tree]" = field(default_factory=list)
    parent: Optional["Tree"] = None


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Address(BaseModel):
    street: str = Field(description="The street.")
    kind: Literal["home", "work"] = "home"


class House(BaseModel):
    addresses: list[Address]


class Plain:
    def __init__(self, width: int, height: "float" = 1.0) -> None:
        self.width = width
        self.height = height


UserId = NewType("UserId", int)
Bound = TypeVar("Bound", bound=int)
Free = TypeVar("Free")
OneOf = TypeVar("OneOf", int, str)

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
NULL = {"type": "null"}
OBJECT = {"type": "object"}
ANY = {"type": ["string", "number", "boolean", "object", "array", "null"]}
PERSON = {"type": "object", "properties": {"name": STRING, "age": INTEGER}, "required": ["name", "age"]}
DAY = dt.date(2026, 1, 31)
UNANNOTATED = object()

# name, annotation, schema (None: only that it is one and takes what is sent), what is sent, what must arrive
ROWS: list[tuple[str, Any, dict[str, Any] | None, Any, Any]] = [
    ("str", str, STRING, "a", "a"),
    ("int", int, INTEGER, 5, 5),
    ("float", float, NUMBER, 2, 2.0),
    ("bool", bool, {"type": "boolean"}, False, False),
    ("bytes", bytes, {"type": "string", "contentEncoding": "base64"}, "/w==", b"\xff"),
    ("None", None, NULL, None, None),
    ("object", object, ANY, {"a": 1}, {"a": 1}),
    ("Any", Any, ANY, [1], [1]),
    ("complex", complex, None, "1+2j", 1 + 2j),
    ("list", list, {"type": "array", "items": ANY}, [1, "a"], [1, "a"]),
    ("List", List, {"type": "array", "items": ANY}, [1], [1]),
    ("list[int]", list[int], {"type": "array", "items": INTEGER}, [1], [1]),
    ("List[float]", List[float], {"type": "array", "items": NUMBER}, [1], [1.0]),
    ("list[list[int]]", list[list[int]], {"type": "array", "items": {"type": "array", "items": INTEGER}}, [[1]], [[1]]),
    ("List[Any]", List[Any], {"type": "array", "items": ANY}, [None], [None]),
    (
        "List[Optional[int]]",
        List[Optional[int]],
        {"type": "array", "items": {"anyOf": [INTEGER, NULL]}},
        [1, None],
        [1, None],
    ),
    ("List[dict]", List[dict], {"type": "array", "items": OBJECT}, [{"a": 1}], [{"a": 1}]),  # type: ignore[type-arg]
    ("dict", dict, OBJECT, {"a": 1}, {"a": 1}),
    ("Dict", Dict, OBJECT, {"a": 1}, {"a": 1}),
    ("dict[str, int]", dict[str, int], {"type": "object", "additionalProperties": INTEGER}, {"a": 1}, {"a": 1}),
    ("dict[int, float]", dict[int, float], {"type": "object", "additionalProperties": NUMBER}, {"1": 1}, {1: 1.0}),
    ("Mapping[str, int]", Mapping[str, int], {"type": "object", "additionalProperties": INTEGER}, {"a": 1}, {"a": 1}),
    ("tuple", tuple, {"type": "array", "items": ANY}, [1, "a"], (1, "a")),
    ("tuple[int, ...]", tuple[int, ...], {"type": "array", "items": INTEGER}, [1, 2], (1, 2)),
    (
        "tuple[int, str]",
        tuple[int, str],
        {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2},
        [1, "a"],
        (1, "a"),
    ),
    ("set[str]", set[str], {"type": "array", "items": STRING, "uniqueItems": True}, ["a"], {"a"}),
    ("frozenset[int]", frozenset[int], {"type": "array", "items": INTEGER, "uniqueItems": True}, [1], frozenset({1})),
    ("deque[int]", deque[int], {"type": "array", "items": INTEGER}, [1], deque([1])),
    ("Sequence[str]", Sequence[str], {"type": "array", "items": STRING}, ["a"], ["a"]),
    ("Iterable[str]", Iterable[str], {"type": "array", "items": STRING}, ["a"], ["a"]),
    ("Optional[int]", Optional[int], {"anyOf": [INTEGER, NULL]}, None, None),
    ("int | None", int | None, {"anyOf": [INTEGER, NULL]}, 5, 5),
    ("Union[int, str]", Union[int, str], {"anyOf": [INTEGER, STRING]}, "5", "5"),
    ("Union[int, str, None]", Union[int, str, None], {"anyOf": [INTEGER, STRING, NULL]}, None, None),
    ("int | str", int | str, {"anyOf": [INTEGER, STRING]}, 5, 5),
    ("float | int", float | int, {"anyOf": [NUMBER, INTEGER]}, 5, 5),
    ("Person | list[int]", Person | list[int], {"anyOf": [PERSON, {"type": "array", "items": INTEGER}]}, [1], [1]),
    ("Optional[List[int]]", Optional[List[int]], {"anyOf": [{"type": "array", "items": INTEGER}, NULL]}, [1], [1]),
    ("list[int] | None", list[int] | None, {"anyOf": [{"type": "array", "items": INTEGER}, NULL]}, None, None),
    ("Optional[dict]", Optional[dict], {"anyOf": [OBJECT, NULL]}, {"a": 1}, {"a": 1}),
    ('Literal["a", "b"]', Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
    ("Literal[1, 2]", Literal[1, 2], {"type": "integer", "enum": [1, 2]}, 2, 2),
    (
        'Literal["a", 1, None]',
        Literal["a", 1, None],
        {"type": ["string", "integer", "null"], "enum": ["a", 1, None]},
        1,
        1,
    ),
    ('Optional[Literal["a"]]', Optional[Literal["a"]], {"anyOf": [{"type": "string", "enum": ["a"]}, NULL]}, "a", "a"),
    ("Color", Color, {"type": "string", "enum": ["red", "blue"]}, "blue", Color.BLUE),
    ("TextColor", TextColor, {"type": "string", "enum": ["red"]}, "red", TextColor.RED),
    ("Level", Level, {"type": "integer", "enum": [1, 2]}, 2, Level.HIGH),
    ("Shape", Shape, {"type": "string", "enum": ["DOT"]}, "DOT", Shape.DOT),
    ('Annotated[int, "d"]', Annotated[int, "d"], {"type": "integer", "description": "d"}, 5, 5),
    (
        'Annotated[str, Field(description="d", max_length=3)]',
        Annotated[str, Field(description="d", max_length=3)],
        {**STRING, "maxLength": 3, "description": "d"},
        "abc",
        "abc",
    ),
    (
        "Annotated[list[int], Field(min_length=1)]",
        Annotated[list[int], Field(min_length=1)],
        {"type": "array", "items": INTEGER, "minItems": 1},
        [1],
        [1],
    ),
    ("Person", Person, PERSON, {"name": "A", "age": 3}, {"name": "A", "age": 3}),
    ("Loose", Loose, {**PERSON, "required": ["age"]}, {"age": 3}, {"age": 3}),
    ("Partly", Partly, {**PERSON, "required": ["name"]}, {"name": "A"}, {"name": "A"}),
    (
        "Place",
        Place,
        {
            "type": "object",
            "description": "A place on the map.",
            "properties": {
                "name": {"type": "string", "description": "What it is called."},
                "pos": {"anyOf": [PERSON, NULL], "default": None},
                "tags": {"type": "array", "items": STRING, "default": []},
            },
            "required": ["name"],
        },
        {"name": "Oslo", "pos": {"name": "x", "age": 1}},
        Place("Oslo", {"name": "x", "age": 1}),
    ),
    ("Tree", Tree, {"$ref": "#/$defs/Tree"}, {"name": "a", "children": [{"name": "b"}]}, Tree("a", [Tree("b")])),
    ("Pair", Pair, None, {"left": 1}, Pair(1)),
    (
        "Address",
        Address,
        None,
        {"street": "S"},
        Address(street="S"),
    ),
    ("House", House, None, {"addresses": [{"street": "S"}]}, House(addresses=[Address(street="S")])),
    ("Optional[Address]", Optional[Address], None, {"street": "S"}, Address(street="S")),
    ("Address | None", Address | None, None, None, None),
    ("List[Address]", List[Address], None, [{"street": "S"}], [Address(street="S")]),
    (
        "List[Person]",
        List[Person],
        {"type": "array", "items": PERSON},
        [{"name": "A", "age": 3}],
        [{"name": "A", "age": 3}],
    ),
    (
        "dt.datetime",
        dt.datetime,
        {**STRING, "format": "date-time"},
        "2026-01-31T12:00:00Z",
        dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC),
    ),
    ("dt.date", dt.date, {**STRING, "format": "date"}, "2026-01-31", DAY),
    ("dt.time", dt.time, {**STRING, "format": "time"}, "12:30:00", dt.time(12, 30)),
    ("dt.timedelta", dt.timedelta, {"type": "number", "description": "Seconds."}, 1.5, dt.timedelta(seconds=1.5)),
    ("Decimal", Decimal, {"type": ["string", "number"]}, "1.50", Decimal("1.50")),
    ("UUID", UUID, {**STRING, "format": "uuid"}, str(UUID(int=1)), UUID(int=1)),
    ("Path", Path, {**STRING, "format": "path"}, "/a/b", Path("/a/b")),
    ("conint(ge=1, le=9)", conint(ge=1, le=9), {"type": "integer", "minimum": 1, "maximum": 9}, 5, 5),
    ("UserId", UserId, INTEGER, 5, 5),
    ("Bound", Bound, INTEGER, 5, 5),
    ("OneOf", OneOf, {"anyOf": [INTEGER, STRING]}, "a", "a"),
    ("Free", Free, STRING, "a", "a"),
    ("Callable[[], int]", Callable[[], int], STRING, "a", "a"),
    ("Type[int]", Type[int], STRING, "a", "a"),
    ('"int"', "int", INTEGER, 5, 5),
    ('"Optional[int]"', "Optional[int]", {"anyOf": [INTEGER, NULL]}, 5, 5),
    ('"what is this"', "what is this", STRING, "a", "a"),
    ('"Unknown[int]"', "Unknown[int]", STRING, "a", "a"),
    ("ToolResult", ToolResult, None, {"status": "error", "message": "m"}, ToolResult("error", "m")),
    ("DataObject", DataObject, None, {"name": "n", "content": "c"}, DataObject("n", "c")),
    ("'ToolResult'", "ToolResult", None, {"status": "error", "message": "m"}, ToolResult("error", "m")),
    ("'MyToolConfig'", "MyToolConfig", STRING, "a", "a"),
    ("nothing at all", UNANNOTATED, STRING, "a", "a"),
    ("DataDisposition", DataDisposition, None, "inline", DataDisposition.INLINE),
]


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


ARTIFACTS: list[tuple[str, Any, dict[str, Any], bool, bool]] = [
    ("Artifact", Artifact, STRING, False, False),
    ('"Artifact"', "Artifact", STRING, False, False),
    ("List[Artifact]", List[Artifact], {"type": "array", "items": STRING}, True, False),
    ('"List[Artifact]"', "List[Artifact]", {"type": "array", "items": STRING}, True, False),
    ("list[Artifact]", list[Artifact], {"type": "array", "items": STRING}, True, False),
    ("tuple[Artifact, ...]", tuple[Artifact, ...], {"type": "array", "items": STRING}, True, False),
    ("Optional[Artifact]", Optional[Artifact], STRING, False, True),
    ("Artifact | None", Artifact | None, STRING, False, True),
    ("Optional[List[Artifact]]", Optional[List[Artifact]], {"type": "array", "items": STRING}, True, True),
    ("List[Optional[Artifact]]", List[Optional[Artifact]], {"type": "array", "items": STRING}, True, False),
    ('Annotated[Artifact, "d"]', Annotated[Artifact, "d"], {**STRING, "description": "d"}, False, False),
]


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
    tool = tool_with(Dict[str, Artifact])
    assert tool.parameters_schema["properties"]["p"] == {"type": "object", "additionalProperties": STRING}
    assert tool.artifact_params == {}
    with pytest.raises(InvalidArgumentsError, match=r"p\[a\]: artifact 'x' did not come with this call"):
        built(tool, {"a": "x"})


CONTEXTS = [
    ("SandboxToolContextFacade", SandboxToolContextFacade),
    ("Optional[SandboxToolContextFacade]", Optional[SandboxToolContextFacade]),
    ("SandboxToolContextFacade | None", SandboxToolContextFacade | None),
    ("'SandboxToolContextFacade'", "SandboxToolContextFacade"),
    ("'Optional[ToolContextFacade]'", "Optional[ToolContextFacade]"),
    ("'ToolContext'", "ToolContext"),
]


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
    (List[Artifact], ["gone.txt"], "p[0]: artifact 'gone.txt' did not come with this call (delivered: none)"),
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
