"""A tool whose schema depends on what the operator sets."""

# mypy: ignore-errors
from sam_tool_sdk import (
    ConfigSchemaField,
    SandboxToolContextFacade,
    ToolResult,
    tool_cli,
    tool_timeout,
    with_config_schema,
    with_dynamic_schema,
)


def override(config):
    backend = config.get("backend", "sql")
    return {
        "name": f"ask_{backend}",
        "description": f"Ask {backend}.",
        "instructions": f"Speak {backend}.",
        "parameters": {"type": "object", "properties": {"query": {"type": "integer"}}, "required": ["query"]},
    }


@tool_timeout(17)
@with_dynamic_schema(override)
@with_config_schema([ConfigSchemaField(key="backend", secret=True, options=["sql", "mongo"])])
def ask(query: str, ctx: SandboxToolContextFacade) -> ToolResult:
    """Ask a database."""
    return ToolResult.ok(f"{ctx.get_config_string('backend')} says {query}")


cli = tool_cli(ask)

if __name__ == "__main__":
    cli()
