"""The function tool of the published pages."""

# mypy: ignore-errors
# ruff: noqa: D417 - written as people do

from sam_tool_sdk import SandboxToolContextFacade, ToolResult, tool_cli


def get_forecast(city: str, ctx: SandboxToolContextFacade, days: int = 1) -> ToolResult:
    """Return the current forecast for a city.

    Args:
        city: City to look up the forecast for.
        days: How many days.
    """
    ctx.send_status(f"looking up forecast for {city}")
    return ToolResult.ok(f"Sunny in {city}, {22 + days} C.")


cli = tool_cli(get_forecast)

if __name__ == "__main__":
    cli()
