"""The arguments file of one call (`runner_args.json`)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from toolmesh_contracts.envelopes.values import Caller, VolumeMount
from toolmesh_runtime.process.static_credential import static_credential

__all__ = ["CallFolder", "InputArtifact", "RunnerArgs"]

_LONGEST_SOCKET_PATH: Final = 107


@dataclass(frozen=True, slots=True)
class CallFolder:
    """Paths of one call's folder, as the tool's process sees them."""

    root: PurePosixPath

    @property
    def runner_args(self) -> PurePosixPath:
        """The arguments file."""
        return self.root / "runner_args.json"

    @property
    def status_pipe(self) -> PurePosixPath:
        """The FIFO for statuses."""
        return self.root / "status.pipe"

    @property
    def result_file(self) -> PurePosixPath:
        """Where the result envelope is written."""
        return self.root / "result.json"

    @property
    def model_socket(self) -> PurePosixPath:
        """Where a tool asks the model that was given no descriptor for it."""
        return self.root / "ipc.sock"

    @property
    def model_address(self) -> str:
        """The same as a socket's address; empty if it is too long for one."""
        path = str(self.model_socket)
        return path if len(path) <= _LONGEST_SOCKET_PATH else ""

    @property
    def output(self) -> PurePosixPath:
        """The folder for output files."""
        return self.root / "output"

    @property
    def input(self) -> PurePosixPath:
        """The folder with input artifacts."""
        return self.root / "input"


@dataclass(frozen=True, slots=True)
class InputArtifact:
    """An input file, already in the call's folder."""

    path: PurePosixPath
    filename: str
    mime_type: str
    version: int
    description: str | None = None


@dataclass(frozen=True, slots=True)
class RunnerArgs:
    """Content of the arguments file; the arguments themselves stay raw bytes."""

    folder: CallFolder
    tool_name: str
    """The tool's own name, never a renamed one: providers look it up."""
    arguments: bytes
    """A JSON object, already checked."""
    tool_config: Mapping[str, Any]
    caller: Caller
    invocation: str
    attempt: int
    deadline_ms: int
    """Unix time in milliseconds."""
    artifacts: Mapping[str, InputArtifact] = field(default_factory=dict)
    volume_mounts: Sequence[VolumeMount] = ()
    user_profile: Mapping[str, Any] = field(default_factory=dict)
    model_address: str = ""
    """Where the tool asks the model: a socket's path or `fd:NUMBER`; empty if nobody listens."""

    def to_json(self) -> bytes:
        """Return the file's bytes. Everything but the arguments is ASCII, and nothing is null."""
        folder = self.folder
        credential = static_credential(self.tool_config)
        fields: dict[str, Any] = {
            "tool_name": self.tool_name,
            "tool_config": self.tool_config,
            "artifact_paths": {key: str(artifact.path) for key, artifact in self.artifacts.items()},
            "artifact_metadata": {key: _metadata(artifact) for key, artifact in self.artifacts.items()},
            "status_pipe": str(folder.status_pipe),
            "result_file": str(folder.result_file),
            "output_dir": str(folder.output),
            "ipc_socket": self.model_address,
            "user_id": self.caller.user,
            "session_id": self.caller.session,
            "app_name": self.caller.agent,
            "task_id": self.caller.task,
            "tool_oauth_token": credential.token,
            "tool_auth_headers": credential.headers,
            "a2a_user_config": json.dumps({"user_profile": dict(self.user_profile)}),
            "volume_mounts": [msgspec.to_builtins(mount) for mount in self.volume_mounts],
            "invocation_id": self.invocation,
            "attempt": self.attempt,
            "deadline_ms": self.deadline_ms,
        }
        head = json.dumps(fields).encode("ascii")
        return b'{"args": ' + self.arguments + b", " + head[1:]


def _metadata(artifact: InputArtifact) -> dict[str, Any]:
    metadata = {
        "filename": artifact.filename,
        "mime_type": artifact.mime_type,
        "version": artifact.version,
        "local_path": str(artifact.path),
    }
    if artifact.description is not None:
        metadata["description"] = artifact.description
    return metadata
