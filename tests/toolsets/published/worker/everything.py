"""All that a call has: artifacts both ways, the model, configuration, the caller's profile."""

# mypy: ignore-errors
# ruff: noqa: BLE001 - written as people do

from sam_tool_sdk import Artifact, DataDisposition, DataObject, SandboxToolContextFacade, ToolResult, tool_cli


def everything(city: str, doc: Artifact, ctx: SandboxToolContextFacade, n: int = 1) -> ToolResult:
    """Use everything."""
    try:
        answer = ctx.call_llm("sys", city)
    except Exception as problem:
        answer = f"{type(problem).__name__}: {problem}"
    stored = DataDisposition.ARTIFACT
    objects = [
        DataObject(
            name="chart.svg",
            content=b"<svg/>",
            mime_type="image/svg+xml",
            disposition=stored,
            description="a chart",
            metadata={"w": 3},
        ),
        DataObject(
            name="deep/er.csv",
            content="a,b",
            mime_type="text/csv",
            disposition=DataDisposition.ARTIFACT_WITH_PREVIEW,
            preview="a",
        ),
        DataObject(name="note.txt", content="short", disposition=DataDisposition.INLINE),
        DataObject(name="same.txt", content="1", disposition=stored),
        DataObject(name="same.txt", content="2", disposition=stored),
        DataObject(name="../result.json", content="evil", disposition=stored),
    ]
    data = {
        "doc": doc.as_text(),
        "version": doc.version,
        "mime_type": doc.mime_type,
        "n": n + 1,
        "answer": answer,
        "unit": ctx.get_config("unit"),
        "user": ctx.user_id,
        "profile": getattr(ctx, "user_profile", {"id": "not in this release"}).get("id"),
    }
    return ToolResult.ok("all of it", data=data, data_objects=objects)


cli = tool_cli(everything)

if __name__ == "__main__":
    cli()
