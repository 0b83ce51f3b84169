"""Says more than a pipe holds."""

# mypy: ignore-errors

from sam_tool_sdk import SandboxToolContextFacade, ToolResult, tool_cli


def statuses(count: int, ctx: SandboxToolContextFacade) -> ToolResult:
    """Send statuses."""
    for number in range(count):
        ctx.send_status(f"status {number}")
    ctx.send_status("x" * 6000)
    ctx.send_status({"no": "text"})
    ctx.send_status("caf\u00e9\nlast")
    return ToolResult.ok("sent")


cli = tool_cli(statuses)

if __name__ == "__main__":
    cli()
