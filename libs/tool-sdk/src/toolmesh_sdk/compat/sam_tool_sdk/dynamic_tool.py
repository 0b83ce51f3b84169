"""The published module `dynamic_tool`, from toolmesh_sdk."""

from toolmesh_sdk.dynamic_tool import DynamicTool as DynamicTool
from toolmesh_sdk.provider import DynamicToolProvider as DynamicToolProvider
