"""A well-behaved tool with parameters of many types."""

from typing import Any

from toolmesh_sdk import tool_cli


def typed(
    text: str = "",
    number: int = 0,
    ratio: float = 0.0,
    flag: bool = False,
    items: list[int] | None = None,
    table: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Tell what came."""
    return {"text": text, "number": number, "ratio": ratio, "flag": flag, "items": items, "table": table}


cli = tool_cli(typed)

if __name__ == "__main__":
    cli()
