"""The annotation table: annotations as people write them, what each advertises, what is sent and what must arrive."""

# ruff: noqa: UP006, UP007, UP035, UP045 - the old forms of annotations are what is tested here
import datetime as dt
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Dict, List, Literal, Optional, Type, Union
from uuid import UUID

from pydantic import Field, conint
from tests.toolsets.annotated.kinds import (
    Bound,
    Color,
    Free,
    Level,
    Loose,
    OneOf,
    Pair,
    Person,
    Place,
    Shape,
    TextColor,
    Tree,
    UserId,
)
from tests.toolsets.annotated.models import Address, House, Partly

from toolmesh_sdk import Artifact, DataDisposition, DataObject, SandboxToolContextFacade, ToolResult

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
NULL = {"type": "null"}
OBJECT = {"type": "object"}
ANY = {"type": ["string", "number", "boolean", "object", "array", "null"]}
PERSON = {"type": "object", "properties": {"name": STRING, "age": INTEGER}, "required": ["name", "age"]}
DAY = dt.date(2026, 1, 31)
UNANNOTATED = object()

# The annotation as it is written (which names the row) and as it is, the schema (None: only that it is one and takes
# what is sent), what is sent, what must arrive.
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


# As above, with whether it is a list, and whether optional.
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


CONTEXTS = [
    ("SandboxToolContextFacade", SandboxToolContextFacade),
    ("Optional[SandboxToolContextFacade]", Optional[SandboxToolContextFacade]),
    ("SandboxToolContextFacade | None", SandboxToolContextFacade | None),
    ("'SandboxToolContextFacade'", "SandboxToolContextFacade"),
    ("'Optional[ToolContextFacade]'", "Optional[ToolContextFacade]"),
    ("'ToolContext'", "ToolContext"),
]
