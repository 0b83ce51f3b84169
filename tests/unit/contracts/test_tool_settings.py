"""Settings that a tool can't work with are refused before it starts, and never shown."""

from typing import Any

import msgspec
import pytest
from tests.support.scripted_worker import catalog_entry

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.tool_description import ConfigField
from toolmesh_contracts.tool_settings import check_settings, declared_settings, misspelt_settings

FIELDS = (
    ConfigField(key="api_key", required=True, secret=True),
    ConfigField(key="limit", type="integer"),
    ConfigField(key="ratio", type="number"),
    ConfigField(key="on", type="boolean"),
    ConfigField(key="units", options=("celsius", "fahrenheit")),
    ConfigField(key="region", required=True, default="eu"),
    ConfigField(key="odd", type="duration"),
)


@pytest.mark.parametrize(
    "settings",
    [
        {"api_key": "abc"},
        {"api_key": "abc", "limit": 3, "ratio": 1, "on": False, "units": "celsius", "odd": [1]},
        {"api_key": "abc", "limit": None, "of_another_tool": {}},
        {"api_key": 12345},
    ],
)
def test_sound_settings_pass(settings: dict[str, Any]) -> None:
    """Also others' keys, as defaults of an agent reach all its tools, types that nobody knows, and digits as text."""
    check_settings("t", FIELDS, settings)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "'api_key' is required"),
        ({"apikey": "s3cret"}, "'api_key' is required"),
        ({"api_key": ["s3cret"]}, "'api_key' is not of type string"),
        ({"api_key": True}, "'api_key' is not of type string"),
        ({"api_key": "s3cret", "limit": "many"}, "'limit' is not of type integer"),
        ({"api_key": "s3cret", "limit": True}, "'limit' is not of type integer"),
        ({"api_key": "s3cret", "on": 1}, "'on' is not of type boolean"),
        ({"api_key": "s3cret", "ratio": "1"}, "'ratio' is not of type number"),
        ({"api_key": "s3cret", "units": "kelvin"}, "'units' is none of celsius, fahrenheit"),
        ({"limit": "many"}, "'api_key' is required; 'limit' is not of type integer"),
    ],
)
def test_each_wrong_setting_is_named_and_no_value_shown(settings: dict[str, Any], told: str) -> None:
    """All at once."""
    with pytest.raises(ToolmeshError) as caught:
        check_settings("t", FIELDS, settings)
    assert caught.value.code is ErrorCode.INVALID_CONFIGURATION
    assert told in caught.value.message
    assert "s3cret" not in str(caught.value)
    assert caught.value.hint


def test_a_misspelt_key_is_recognised() -> None:
    """The hint has both spellings."""
    with pytest.raises(ToolmeshError) as caught:
        check_settings("t", FIELDS, {"apikey": "s3cret"})
    assert caught.value.hint == "did you mean 'api_key' by 'apikey'?"


def test_keys_near_to_a_declared_one_that_is_not_set_are_misspelt() -> None:
    """Others are somebody else's, and so is one whose neighbour is set."""
    assert misspelt_settings(FIELDS, {"limt": 1, "colour": "red"}) == {"limt": "limit"}
    assert misspelt_settings(FIELDS, {"limt": 1, "limit": 2}) == {}


def test_settings_that_the_catalog_tells_are_read_one_by_one() -> None:
    """A field of an odd form never hides the others."""
    schema = msgspec.Raw(b'[{"key": "a", "secret": true}, 5, {"key": 7}, {"key": "b", "type": "integer"}]')
    fields = declared_settings(catalog_entry("t", config_schema=schema))
    assert [(field.key, field.type, field.secret) for field in fields] == [
        ("a", "string", True),
        ("b", "integer", False),
    ]
    assert declared_settings(catalog_entry("t")) == ()
