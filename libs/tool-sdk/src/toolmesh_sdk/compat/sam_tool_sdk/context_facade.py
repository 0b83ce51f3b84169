"""The published module `context_facade`, from toolmesh_sdk."""

from toolmesh_sdk.context import SandboxToolContextFacade as SandboxToolContextFacade
