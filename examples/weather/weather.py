"""One function, one tool: its annotations are the parameters, its docstring is what the model reads."""

from toolmesh_sdk import ConfigSchemaField, ToolContext, ToolResult, tool_cli, with_config_schema


@with_config_schema([ConfigSchemaField("units", options=["celsius", "fahrenheit"], default="celsius")])
def weather(city: str, ctx: ToolContext) -> ToolResult:
    """Tell how the weather is in a city now.

    Args:
        city: The city, such as Oslo.
    """
    ctx.send_status(f"asking the station in {city}")
    degrees = "72 F" if ctx.get_config("units") == "fahrenheit" else "22 C"
    return ToolResult.ok(f"Sunny in {city}, {degrees}.", data={"sky": "sunny", "degrees": degrees})


cli = tool_cli(weather)

if __name__ == "__main__":
    cli()
