"""Says before anything starts that this system has no sandbox."""

import sys

from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["check_sandbox"]

_UNISOLATED = "direct"


def check_sandbox(mode: str, platform: str = sys.platform) -> None:
    """Check that the system can have the sandbox at all; whether it works here, the worker finds out.

    Raises:
        ToolmeshError: tools can't be isolated on this system.
    """
    if platform != "linux" and mode != _UNISOLATED:
        raise ToolmeshError(
            f"{platform} has no sandbox for tools; --allow-unsandboxed runs them without isolation",
            code=ErrorCode.SANDBOX_UNAVAILABLE,
        )
