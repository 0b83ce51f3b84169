"""The context of functions in the oldest form, `def tool(ctx, x)`: artifacts by argument name, synchronous."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .context import SandboxToolContextFacade


class LegacyContext:
    """Like the context, except for three artifact methods; everything else is passed on.

    Args:
        context: The call's context.
    """

    __slots__ = ("_context",)

    def __init__(self, context: SandboxToolContextFacade) -> None:
        self._context = context

    def load_artifact(self, param_name: str) -> bytes | None:
        """Return the content of the artifact that an argument names, or None."""
        return self._context.load_artifact_by_param(param_name)

    def load_artifact_text(self, param_name: str, encoding: str = "utf-8") -> str | None:
        """Return the same as text."""
        content = self.load_artifact(param_name)
        return None if content is None else content.decode(encoding)

    def list_artifacts(self) -> dict[str, str]:
        """Return path by argument name."""
        return self._context._artifacts().paths()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)
