"""Types of packages that a tool's parameter can have; importing them costs more than all else that a call does."""

# ruff: noqa: F401 - tools take all of this module's names
from typing import Literal, NotRequired

from pydantic import BaseModel, Field, conint
from typing_extensions import TypedDict as ExtensionsTypedDict


class Partly(ExtensionsTypedDict):
    name: str
    age: NotRequired[int]


class Address(BaseModel):
    street: str = Field(description="The street.")
    kind: Literal["home", "work"] = "home"


class House(BaseModel):
    addresses: list[Address]
