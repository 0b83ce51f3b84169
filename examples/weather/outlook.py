"""A provider: several tools in one program, which share configuration and code."""

from typing import Annotated, Literal

from toolmesh_sdk import ConfigSchemaField, DynamicToolProvider, ToolResult, provider_cli, with_config_schema

SKIES = ("sunny", "cloudy", "rainy")


@with_config_schema([ConfigSchemaField("units", options=["celsius", "fahrenheit"], default="celsius")])
class Outlook(DynamicToolProvider):
    """Tools about the weather to come."""

    def create_tools(self, tool_config=None):
        return []  # both tools are registered below

    def degrees(self, celsius: int) -> str:
        if self.tool_config["units"] == "fahrenheit":
            return f"{round(celsius * 9 / 5 + 32)} F"
        return f"{celsius} C"


@Outlook.register_tool
def outlook(self, city: str, days: Annotated[int, "How many days, today included."] = 3) -> ToolResult:
    """Foretell the weather of the next days in a city.

    Args:
        city: The city, such as Oslo.
    """
    lines = [f"{SKIES[day % 3].capitalize()} in {city}, {self.degrees(22 - day)}." for day in range(days)]
    return ToolResult.ok("\n".join(lines), data={"days": lines})


@Outlook.register_tool
async def warnings(self, region: str, level: Literal["yellow", "orange", "red"] = "yellow") -> ToolResult:
    """List the weather warnings of a region.

    Args:
        region: Code of the region, such as NO-03.
        level: The mildest level to list.
    """
    return ToolResult.ok(f"No warnings of level {level} or worse in {region}.", data={"warnings": []})


cli = provider_cli(Outlook)

if __name__ == "__main__":
    cli()
