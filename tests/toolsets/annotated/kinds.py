"""Types of every kind that a tool's parameter can have, but those of packages, and how a value is told.

Imported by the tests and by the tools that they make: what arrives is told by both in the same words.
"""

# ruff: noqa: F401, UP035 - tools take all of this module's names
import datetime as dt
import enum
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Dict,
    List,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    Required,
    Type,
    TypedDict,
    TypeVar,
    Union,
)
from uuid import UUID


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


class Plain:
    def __init__(self, width: int, height: "float" = 1.0) -> None:
        self.width = width
        self.height = height


UserId = NewType("UserId", int)
Bound = TypeVar("Bound", bound=int)
Free = TypeVar("Free")
OneOf = TypeVar("OneOf", int, str)


def told(value: Any) -> dict[str, str]:
    """Return a value's type and content as text."""
    kind = type(value)
    content = value if isinstance(value, enum.Enum) or not hasattr(value, "__dict__") else vars(value)
    return {"type": f"{kind.__module__.rpartition('.')[2]}.{kind.__qualname__}", "content": repr(content)}
