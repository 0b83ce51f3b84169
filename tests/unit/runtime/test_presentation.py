"""What the catalog says of tools that describe themselves as published SDKs do."""

from typing import Any

import pytest

from toolmesh_contracts.envelopes.catalog import ArtifactParameter
from toolmesh_contracts.tool_description import ToolDescription
from toolmesh_runtime.toolsets.presentation import presented, without_argument_texts

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string", "description": "City."}}}
BARE: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
ARGS = "Args:\n    city: City.\n    ctx: The context."


@pytest.mark.requirement("published:catalog")
def test_first_paragraph_is_the_description_and_nothing_else_is_lost() -> None:
    """A provider's whole docstring becomes one line and instructions."""
    said = ToolDescription(
        description=f"Return the forecast\nfor a city.\n\nOnly for Norway.\n\n{ARGS}\n\nReturns:\n    Text.",
        parameters=CITY,
    )
    shown = presented(said)
    assert shown.description == "Return the forecast for a city."
    assert shown.instructions == "Only for Norway.\n\nReturns:\n    Text."


@pytest.mark.requirement("published:catalog")
def test_instructions_do_not_repeat_the_parameters() -> None:
    """A function's instructions are often nothing but the Args block."""
    assert presented(ToolDescription(description="X.", parameters=CITY, instructions=ARGS)).instructions == ""
    kept = presented(ToolDescription(description="X.", parameters=BARE, instructions=ARGS)).instructions
    assert kept == ARGS


@pytest.mark.parametrize(
    "text",
    [
        "Args:\n    city: City.\n    other: Not in the schema.",
        "Args:\n    some words without a colon",
        "No block at all.",
        "Args: inline",
    ],
)
def test_block_that_says_more_than_the_schema_stays(text: str) -> None:
    """Only what the parameters say themselves is dropped."""
    assert without_argument_texts(text, CITY) == text


@pytest.mark.parametrize(
    ("before", "info", "after"),
    [
        ({"type": "object", "properties": {}}, {}, {"type": "string"}),
        ({"type": "string", "description": "D"}, {"is_optional": True}, {"type": "string", "description": "D"}),
        ({"type": "object"}, {"is_list": True}, {"type": "array", "items": {"type": "string"}}),
        (
            {"type": "array", "items": {"type": "object"}},
            {"filename_key": "f"},
            {"type": "array", "items": {"type": "object"}},
        ),
        ("nonsense", {}, {"type": "string"}),
    ],
)
@pytest.mark.requirement("published:catalog")
def test_artifact_is_advertised_as_the_name_of_a_file(before: Any, info: dict[str, Any], after: Any) -> None:
    """Whatever class the tool has inside; lists of objects that name files keep their form."""
    said = ToolDescription(
        description="X.",
        parameters={"type": "object", "properties": {"doc": before}, "required": ["doc"]},
        artifact_params={"doc": ArtifactParameter(**info)},
    )
    shown = presented(said).parameters
    assert shown == {"type": "object", "properties": {"doc": after}, "required": ["doc"]}
