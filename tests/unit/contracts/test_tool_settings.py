"""Settings that a tool can't work with are refused before it starts, and never shown."""

from typing import Any

import pytest

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.tool_description import ConfigField
from toolmesh_contracts.tool_settings import check_settings

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
    ],
)
def test_sound_settings_pass(settings: dict[str, Any]) -> None:
    """Others' keys too, as defaults of an agent reach all of its tools, and types that nobody knows."""
    check_settings("t", FIELDS, settings)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "'api_key' is required"),
        ({"apikey": "s3cret"}, "'api_key' is required"),
        ({"api_key": 5}, "'api_key' is not of type string"),
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
