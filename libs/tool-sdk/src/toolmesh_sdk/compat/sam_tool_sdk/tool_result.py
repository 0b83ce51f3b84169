"""The published module `tool_result`, from toolmesh_sdk."""

from toolmesh_sdk.results import DataDisposition as DataDisposition
from toolmesh_sdk.results import DataObject as DataObject
from toolmesh_sdk.results import ToolResult as ToolResult
