"""The arguments file of one call, with absent and null fields at their defaults."""

# os.path and open instead of pathlib: a tool process pays for every import, and pathlib's is 3 ms.
# ruff: noqa: PTH118, PTH120, PTH123
from __future__ import annotations

import os
from json import loads

from .artifacts import DeliveredArtifacts
from .errors import InvalidArgumentsError, RunnerArgsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Invocation:
    """One call as the host wrote it.

    Args:
        fields: The JSON object of the arguments file.
    """

    __slots__ = ("_fields", "artifacts", "ipc_socket", "output_dir", "result_file", "status_pipe", "tool_name")

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        self.tool_name = self.text("tool_name")
        self.result_file = self.text("result_file")
        self.status_pipe = self.text("status_pipe")
        self.ipc_socket = self.text("ipc_socket")
        self.output_dir = self.text("output_dir") or os.path.join(os.path.dirname(self.result_file), "output")
        self.artifacts = DeliveredArtifacts(self.mapping("artifact_metadata"), self.mapping("artifact_paths"))

    def text(self, key: str, default: str = "") -> str:
        """Return a text field."""
        value = self._fields.get(key)
        return value if isinstance(value, str) else default

    def mapping(self, key: str) -> dict[str, Any]:
        """Return an object field."""
        value = self._fields.get(key)
        return value if isinstance(value, dict) else {}

    @property
    def tool_config(self) -> dict[str, Any]:
        """What the operator set."""
        return self.mapping("tool_config")

    @property
    def volume_mounts(self) -> list[dict[str, Any]]:
        """The volumes of this call."""
        value = self._fields.get("volume_mounts")
        return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []

    @property
    def a2a_user_config(self) -> Any:
        """The caller's profile blob: JSON text, or the object itself."""
        return self._fields.get("a2a_user_config")

    def arguments(self) -> dict[str, Any]:
        """Return what the model sent.

        Raises:
            InvalidArgumentsError: Not a JSON object.
        """
        value = self._fields.get("args")
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise InvalidArgumentsError(self.tool_name or "the tool", [f"args must be an object, got {value!r:.80}"])
        return value


def read_invocation(path: str) -> Invocation:
    """Read an arguments file.

    Raises:
        RunnerArgsError: It cannot be read, is not UTF-8 JSON, or is no object.
    """
    return Invocation(read_json_object(path))


def read_json_object(path: str) -> dict[str, Any]:
    """Read a JSON file that holds an object; a byte order mark is skipped.

    Raises:
        RunnerArgsError: It cannot be read, is not UTF-8 JSON, or is no object.
    """
    try:
        with open(path, "rb") as file:
            value = loads(file.read().removeprefix(_BYTE_ORDER_MARK).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise RunnerArgsError(f"reading {path}: {problem}") from None
    if not isinstance(value, dict):
        raise RunnerArgsError(f"reading {path}: must be a JSON object, is a {type(value).__name__}")
    return value
