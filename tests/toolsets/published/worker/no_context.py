"""The published example that its own SDK can't call."""

# mypy: ignore-errors

from sam_tool_sdk import ToolResult, tool_cli


def add(left: int, right: int) -> ToolResult:
    """Add two numbers."""
    return ToolResult.ok(f"{left + right}")


cli = tool_cli(add)

if __name__ == "__main__":
    cli()
