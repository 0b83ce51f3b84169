"""Types that pydantic describes and validates itself; imported only when a tool already uses pydantic."""

# ruff: noqa: D102 - ParameterType in base.py says what schema and build do
from __future__ import annotations

from .base import ValueProblemError, decoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from toolmesh_sdk.artifacts import DeliveredArtifacts

    from .base import SchemaBook


def is_pydantic_type(kind: object) -> bool:
    """Say whether pydantic knows how to build this type."""
    return hasattr(kind, "__pydantic_validator__") or hasattr(kind, "__get_pydantic_core_schema__")


class PydanticType:
    """A pydantic model, a pydantic dataclass, or one of pydantic's own types (`EmailStr`, `HttpUrl`, ...)."""

    __slots__ = ("_adapter", "_kind")
    name = "pydantic"

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._adapter: Any = None

    @property
    def json_types(self) -> tuple[str, ...]:
        """`object` for models; other types are asked by validation."""
        return ("object",) if hasattr(self._kind, "__pydantic_validator__") else ("string", "number", "integer")

    def _validator(self) -> Any:
        if self._adapter is None:
            from pydantic import TypeAdapter

            self._adapter = TypeAdapter(self._kind)
        return self._adapter

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        return book.adopt(self._validator().json_schema(ref_template="#/$defs/{model}"))

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
        from pydantic import ValidationError

        try:
            return self._validator().validate_python(decoded(value, "{"))
        except ValidationError as found:
            problems = (
                ".".join([path, *(str(part) for part in entry["loc"])]) + f": {entry['msg']}"
                for entry in found.errors(include_url=False, include_input=False)
            )
            raise ValueProblemError("; ".join(problems)) from None
