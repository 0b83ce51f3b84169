"""`get_current_time`: tells the time."""

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

from toolmesh_executor.builtins.builtin_tool import BuiltinTool, succeeded
from toolmesh_executor.loop.toolbox import ToolOutcome

__all__ = ["CURRENT_TIME"]

_UTC: Final = "UTC"
_LONGEST_NAME: Final = 64


def _run(arguments: Mapping[str, Any]) -> ToolOutcome:
    wanted = arguments.get("timezone") or _UTC
    zone = _zone(wanted)
    now = datetime.now(UTC if zone is None else zone)
    offset = now.strftime("%z")
    known = {} if zone else {"message": f"there is no time zone {wanted[:_LONGEST_NAME]!r}; this is the time in UTC"}
    return succeeded(
        current_time=now.isoformat(),
        timezone=wanted if zone else _UTC,
        timezone_offset=f"{offset[:3]}:{offset[3:5]}",
        timezone_abbreviation=now.tzname(),
        formatted_time=now.strftime("%Y-%m-%d %H:%M:%S %Z"),
        timestamp=now.timestamp(),
        date=now.strftime("%Y-%m-%d"),
        time=now.strftime("%H:%M:%S"),
        day_of_week=now.strftime("%A"),
        **known,
    )


def _zone(name: str) -> tzinfo | None:
    """Return a time zone of the IANA database; None if it has none of this name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, or a path: a folder, or a way out of the database
        return None


CURRENT_TIME: Final = BuiltinTool(
    name="get_current_time",
    description="Tell the current date and time.",
    parameters={
        "type": "object",
        "properties": {
            "timezone": {
                "type": "string",
                "description": "Name of the time zone in the IANA database, such as Europe/Oslo; UTC without it.",
            }
        },
        "additionalProperties": False,
    },
    run=_run,
    is_repeatable=True,
)
"""Field names as reference implementations have them; an unknown zone is told, and answered in UTC."""
