"""A provider, its child, and a class tool, all of one module; `base.py`, `child.py` and `classy.py` are its programs."""

# mypy: ignore-errors
# ruff: noqa: RUF012, D205, D417, T201 - written as people do
from toolmesh_sdk import (
    Artifact,
    ConfigSchemaField,
    DynamicTool,
    DynamicToolProvider,
    VolumeParam,
    tool_timeout,
    with_raw_string_args,
    with_volume_params,
)


class Base(DynamicToolProvider):
    """Has two tools."""

    def create_tools(self, tool_config=None):
        print("{noise")


@Base.register_tool
@tool_timeout(7)
@with_volume_params([VolumeParam("data", "/data", "readwrite", "Scratch.")])
@with_raw_string_args("text")
def limited(self, text: str):
    """Show the provider's settings, although it is
    described over two lines.

    Only the first paragraph is the description.

    Args:
        text: Stays raw.
    """
    return [type(self).__name__, self.tool_config, text]


@Base.register_tool
def replaced():
    """Say whose it is."""
    return "base"


class Child(Base):
    """Has one more."""


@Child.register_tool
def own():
    """Say whose it is."""
    return "own"


class Classy(DynamicTool):
    """Declares all that a class can."""

    tool_name = "classy"
    tool_description = "Read a document."
    instructions = "Read it twice."
    parameters_schema = {"type": "object", "properties": {"doc": {"type": "string"}, "sql": {"type": "string"}}}
    config_schema = [ConfigSchemaField("key", "string", "The key.", True, True)]
    raw_string_args = ["sql"]
    resolution_type = "all"
    artifact_args = ["doc"]
    timeout_seconds = 9

    def _run_async_impl(self, args, tool_context=None, credential=None):
        document: Artifact = args["doc"]
        return [document.as_text(), self.tool_config, tool_context.user_id]
