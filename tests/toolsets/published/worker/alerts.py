"""The provider of the published pages, started by a console script."""

# mypy: ignore-errors
# ruff: noqa: D417 - written as people do

from sam_tool_sdk import DynamicToolProvider, SandboxToolContextFacade, ToolResult, provider_cli


class WeatherTools(DynamicToolProvider):
    def create_tools(self, tool_config=None):
        return []


@WeatherTools.register_tool
async def get_alerts(self, region: str, ctx: SandboxToolContextFacade) -> dict:
    """Return active alerts.

    Looks at the whole region.

    Args:
        region: Region code.
    """
    return ToolResult.ok(f"Alerts for {region}", data={"alerts": [ctx.user_id]}).model_dump()


cli = provider_cli(WeatherTools)
