"""`DynamicTool`: a tool as a class, which writes its own name, description and schema."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .options import options_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .artifacts import ArtifactTypeInfo, DeliveredArtifacts
    from .context import SandboxToolContextFacade


class DynamicTool(ABC):
    """Base of class tools; `_run_async_impl` may be synchronous or a coroutine.

    Args:
        tool_config: What the operator set for this tool.
    """

    config_model: type | None = None

    def __init__(self, tool_config: dict[str, Any] | None = None) -> None:
        self.tool_config: Any = tool_config or {}

    async def init(self, component: object = None, tool_config: dict[str, Any] | None = None) -> None:  # noqa: B027
        """Prepare before the call; may be synchronous in a subclass."""

    async def cleanup(self, component: object = None, tool_config: dict[str, Any] | None = None) -> None:  # noqa: B027
        """Put away after the call, also after a failed one; may be synchronous in a subclass."""

    @property
    @abstractmethod
    def tool_name(self) -> str:
        """The name that the model calls."""

    @property
    @abstractmethod
    def tool_description(self) -> str:
        """What the tool does, in one paragraph."""

    @property
    @abstractmethod
    def parameters_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""

    @abstractmethod
    def _run_async_impl(
        self, args: dict[str, Any], tool_context: SandboxToolContextFacade | None = None, credential: str | None = None
    ) -> Any:
        """Do the work and return a ToolResult, a dict or text."""

    @property
    def instructions(self) -> str:
        """Guidance for the model beyond the description."""
        return str(self._option("instructions", ""))

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """JSON Schema of the data of a success, or None."""
        return None

    @property
    def raw_string_args(self) -> list[str]:
        """Parameters whose text arrives as written, without embed resolution."""
        return list(self._option("raw_string_args", []))

    @property
    def resolution_type(self) -> str:
        """Which embeds are resolved in the others: `early` or `all`."""
        return str(self._option("resolution_type", "early"))

    @property
    def artifact_args(self) -> list[str]:
        """Parameters that name artifacts; the tool gets `Artifact` objects."""
        return []

    @property
    def artifact_params(self) -> dict[str, ArtifactTypeInfo]:
        """The same with whether each is a list and optional."""
        from .artifacts import ArtifactTypeInfo

        return {name: ArtifactTypeInfo(is_artifact=True) for name in self.artifact_args}

    @property
    def ctx_facade_param_name(self) -> str | None:
        """The key under which `args` shall hold the context, or None."""
        return None

    @property
    def auth_config(self) -> dict[str, Any] | None:
        """The sign-in that a call needs, or None."""
        declared: dict[str, Any] | None = self._option("auth")
        return declared

    @property
    def config_schema(self) -> Any:
        """What an operator may set: ConfigSchemaField or dict entries, or None."""
        return self._option("config_schema")

    @property
    def timeout_seconds(self) -> int | None:
        """Wall-clock budget of one call in seconds, or None for the manifest's."""
        declared: int | None = self._option("timeout_seconds")
        return declared

    @property
    def volume_params(self) -> Any:
        """The volumes that the tool needs, or None."""
        return self._option("volume_params")

    def dynamic_schema(self, config: dict[str, Any]) -> Any:
        """Return what a tool_config changes in the schema, or None."""
        override = self._option("dynamic_schema")
        return override(config) if override else None

    def build_arguments(self, arguments: dict[str, Any], files: DeliveredArtifacts) -> dict[str, Any]:
        """Return the arguments checked against `parameters_schema`, artifacts loaded.

        Raises:
            InvalidArgumentsError: They do not fit; all problems are named.
        """
        from .schema_arguments import arguments_by_schema

        return arguments_by_schema(self, arguments, files)

    def _option(self, key: str, default: Any = None) -> Any:
        return options_of(type(self)).get(key, default)
