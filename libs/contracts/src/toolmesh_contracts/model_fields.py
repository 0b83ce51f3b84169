"""Finds what a pydantic model allows at a place, for messages about unknown keys and kinds."""

import types
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

__all__ = ["allowed_keys", "allowed_tags", "description_of", "shapes_at"]

_UNIONS = (Union, types.UnionType)


def allowed_keys(shape: Any, location: Sequence[str | int]) -> tuple[str, ...]:
    """Return the keys allowed at `location`, a pydantic error's `loc`, below a model or another type; sorted."""
    keys = {
        field.alias or name
        for found in shapes_at(shape, location)
        for model in _models(found)
        for name, field in model.model_fields.items()
    }
    return tuple(sorted(keys))


def description_of(shape: Any, location: Sequence[str | int]) -> str:
    """Return what the docstring of the field at `location` says, or an empty text; its first line."""
    for found in shapes_at(shape, location[:-1]):
        for model in _models(found):
            for name, field in model.model_fields.items():
                if (field.alias or name) == location[-1] and field.description:
                    return field.description.splitlines()[0]
    return ""


def allowed_tags(shape: Any, location: Sequence[str | int], discriminator: str) -> tuple[str, ...]:
    """Return the values of `discriminator` that choose a member of the union at `location`; sorted."""
    tags = {
        tag
        for found in shapes_at(shape, location)
        for model in _models(found)
        if discriminator in model.model_fields
        for tag in get_args(model.model_fields[discriminator].annotation)
    }
    return tuple(sorted(tags))


def shapes_at(shape: Any, location: Sequence[str | int]) -> list[Any]:
    """Return the types at `location`; pydantic writes a union's tag into it as a step of its own."""
    shapes = [shape]
    for part in location:
        shapes = [inner for outer in shapes for inner in _step(outer, part)]
    return shapes


def _step(shape: Any, part: str | int) -> list[Any]:
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is Annotated:
        return _step(arguments[0], part)
    if origin in _UNIONS:
        chosen = [model for model in _models(shape) if part in _literals(model)]
        return chosen or [inner for argument in arguments for inner in _step(argument, part)]
    if origin in (list, tuple):
        return [arguments[0]] if isinstance(part, int) else []
    if origin is dict:
        return [arguments[1]]
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return [field.annotation for name, field in shape.model_fields.items() if (field.alias or name) == part]
    return []


def _models(shape: Any) -> Iterator[type[BaseModel]]:
    origin, arguments = get_origin(shape), get_args(shape)
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        yield shape
    elif origin is Annotated:
        yield from _models(arguments[0])
    elif origin in _UNIONS:
        for argument in arguments:
            yield from _models(argument)


def _literals(model: type[BaseModel]) -> set[Any]:
    annotations = [field.annotation for field in model.model_fields.values()]
    return {value for kind in annotations if get_origin(kind) is Literal for value in get_args(kind)}
