"""The published module `cli`, from toolmesh_sdk."""

from toolmesh_sdk.cli import dynamic_tool_cli as dynamic_tool_cli
from toolmesh_sdk.cli import provider_cli as provider_cli
from toolmesh_sdk.cli import tool_cli as tool_cli
