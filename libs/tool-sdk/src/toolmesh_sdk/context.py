"""What a tool may ask of its host during a call: status, model, artifacts, configuration, who is calling."""

# os.path and open instead of pathlib: a tool process pays for every import, and pathlib's is 3 ms.
# ruff: noqa: PTH118
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .artifacts import Artifact, DeliveredArtifact, DeliveredArtifacts
    from .invocation import Invocation
    from .model_answer import ModelAnswer
    from .model_channel import IPCClient
    from .options import VolumeMount
    from .output_folder import OutputFolder
    from .status_channel import StatusChannel


class SandboxToolContextFacade:
    """The context of one call; annotate a parameter with it (or name it `ctx`) to get it.

    Args:
        status_pipe_path: FIFO for status lines, "" for none.
        tool_config: What the operator set.
        artifacts: Files by name: `{"local_path", "mime_type", "version"}` each.
        output_dir: Where saved artifacts go.
        user_id: Who calls.
        session_id: In which conversation.
        app_name: Through which agent.
        artifact_paths: Path by argument name.
        auth_token: The person's token for the service the tool declared, "" without.
        task_id: The agent's task.
        ipc_socket_path: The host's socket for `call_llm`, "" for none.
        volume_mounts: The volumes of this call.
        a2a_user_config: The caller's profile blob, JSON text or the object.
    """

    def __init__(
        self,
        *,
        status_pipe_path: str = "",
        tool_config: dict[str, Any] | None = None,
        artifacts: dict[str, dict[str, Any]] | None = None,
        output_dir: str = "",
        user_id: str = "unknown",
        session_id: str = "unknown",
        app_name: str = "",
        artifact_paths: dict[str, str] | None = None,
        auth_token: str = "",
        task_id: str = "",
        ipc_socket_path: str = "",
        volume_mounts: list[VolumeMount] | None = None,
        a2a_user_config: Any = "",
    ) -> None:
        self._status_pipe_path = status_pipe_path
        self._tool_config = tool_config or {}
        self._output_dir = output_dir or os.path.join(os.curdir, "output")
        self._artifacts_given = ({name: {"filename": name, **info} for name, info in (artifacts or {}).items()},)
        self._artifact_paths = artifact_paths or {}
        self._ipc_socket_path = ipc_socket_path
        self._volume_mounts = list(volume_mounts or ())
        self._user_config_given = a2a_user_config
        self.user_id = user_id
        self.session_id = session_id
        self.app_name = app_name
        self.task_id = task_id
        self.auth_token = auth_token
        self.cancelled = False
        self._status: StatusChannel | None = None
        self._model: IPCClient | None = None
        self._output: OutputFolder | None = None
        self._delivered: DeliveredArtifacts | None = None
        self._state: dict[str, Any] | None = None

    @classmethod
    def for_invocation(cls, invocation: Invocation) -> SandboxToolContextFacade:
        """Return the context of a call that the host described in its arguments file."""
        mounts = invocation.volume_mounts
        if mounts:
            from .options import VolumeMount
        context = cls(
            status_pipe_path=invocation.status_pipe,
            tool_config=invocation.tool_config,
            output_dir=invocation.output_dir,
            user_id=invocation.text("user_id", "unknown"),
            session_id=invocation.text("session_id", "unknown"),
            app_name=invocation.text("app_name"),
            auth_token=invocation.text("tool_oauth_token"),
            task_id=invocation.text("task_id"),
            ipc_socket_path=invocation.ipc_socket,
            volume_mounts=[VolumeMount.from_dict(entry) for entry in mounts],
            a2a_user_config=invocation.a2a_user_config,
        )
        context._delivered = invocation.artifacts
        return context

    # Who calls, and with what.

    @property
    def tool_config(self) -> dict[str, Any]:
        """What the operator set."""
        return self._tool_config

    def get_config(self, key: str, default: Any = None) -> Any:
        """Return one configured value."""
        return self._tool_config.get(key, default)

    def get_config_string(self, key: str, default: str = "") -> str:
        """Return one configured value if it is text."""
        value = self._tool_config.get(key, default)
        return value if isinstance(value, str) else default

    def get_auth_token(self) -> str:
        """Return the person's token for the service the tool declared, "" without."""
        return self.auth_token

    @property
    def state(self) -> dict[str, Any]:
        """The agent's view of this call; writable, but never sent back."""
        if self._state is None:
            self._state = {"a2a_context": {"a2a_user_config": self._user_config()}}
        return self._state

    @property
    def user_profile(self) -> dict[str, Any]:
        """The caller's profile; only `id` and `work_email` are vouched for by the host."""
        profile = self.state["a2a_context"]["a2a_user_config"].get("user_profile")
        return profile if isinstance(profile, dict) else {}

    @property
    def raw_tool_context(self) -> None:
        """Nothing: there is no agent object in a tool process."""

    @property
    def volume_mounts(self) -> list[VolumeMount]:
        """The volumes of this call."""
        return list(self._volume_mounts)

    def get_volume_mount_path(self, mount_path: str) -> str | None:
        """Return where the volume declared at `mount_path` is, or None."""
        wanted = mount_path.rstrip("/")
        for mount in self._volume_mounts:
            if mount.mount_path.rstrip("/") == wanted:
                return mount.mount_path
        return None

    # Progress, model, cancellation.

    def send_status(self, message: object) -> bool:
        """Show the person a line while the tool works; return whether the host took it."""
        return self._status_channel().send({"status": _status_text(message)})

    def send_progress(self, fraction: float, message: object = "") -> bool:
        """Show how far the tool is, from 0.0 to 1.0, with an optional line of text."""
        part = min(1.0, max(0.0, float(fraction)))
        return self._status_channel().send({"status": _status_text(message) or f"{part:.0%}", "progress": part})

    def raise_if_cancelled(self) -> None:
        """Stop here if the host asked this call to stop.

        Raises:
            ToolCancelledError: It did.
        """
        if self.cancelled:
            from .errors import ToolCancelledError

            raise ToolCancelledError("cancelled by the host")

    def call_llm(self, system_prompt: str, user_prompt: str, temperature: float = 0.7, **options: Any) -> str:
        """Return the text of `ask_model`, whose options it takes.

        Raises:
            IPCError: As `ask_model`.
        """
        return self.ask_model(system_prompt, user_prompt, temperature, **options).text

    def ask_model(
        self,
        system_prompt: str,
        user_prompt: str,
        temperature: float = 0.7,
        *,
        model: str = "",
        max_tokens: int | None = None,
        timeout_s: float | None = None,
    ) -> ModelAnswer:
        """Ask the agent's model, and wait for its answer and what it took.

        Args:
            system_prompt: What the model is to be.
            user_prompt: The question.
            temperature: From 0 to 2.
            model: One that the agent's `tool_models` allows; empty for the agent's own.
            max_tokens: Longest answer, if shorter than the host allows.
            timeout_s: How long to wait, in seconds; the host waits for at most 110, and not beyond the call's own time.

        Raises:
            IPCError: An argument can't be sent, or the host offers no model here, refused, took too long, or is gone.
        """
        if self._model is None:
            from .errors import IPCError
            from .model_channel import IPCClient

            if not self._ipc_socket_path:
                raise IPCError("LLM calls not available: the host gave this call no connection to a model")
            self._model = IPCClient(self._ipc_socket_path)
        return self._model.ask_model(
            system_prompt, user_prompt, temperature, model=model, max_tokens=max_tokens, timeout_s=timeout_s
        )

    async def call_llm_async(
        self, system_prompt: str, user_prompt: str, temperature: float = 0.7, **options: Any
    ) -> str:
        """Do as `call_llm` without blocking the event loop."""
        return (await self.ask_model_async(system_prompt, user_prompt, temperature, **options)).text

    async def ask_model_async(
        self, system_prompt: str, user_prompt: str, temperature: float = 0.7, **options: Any
    ) -> ModelAnswer:
        """Do as `ask_model` without blocking the event loop."""
        from asyncio import to_thread

        return await to_thread(self.ask_model, system_prompt, user_prompt, temperature, **options)

    def send_signal(self, signal_data: object, skip_buffer_flush: bool = False) -> bool:
        """Refuse: signals exist only for tools inside the agent's process.

        Raises:
            NotImplementedError: Always, as the published interface has it.
        """
        raise NotImplementedError("send_signal works only inside the agent's process; use send_status")

    # Artifacts that came with the call.

    def read_artifact(self, filename: str, version: int | str = "latest") -> Artifact:
        """Return an artifact that came with the call, loaded.

        Raises:
            FileNotFoundError: It did not come; the message names those that did.
        """
        return self._find(filename, version).load()

    async def load_artifact(self, filename: str, version: int | str = "latest", as_text: bool = False) -> bytes | str:
        """Return an artifact's content.

        Raises:
            FileNotFoundError: As `read_artifact`.
        """
        content = self._find(filename, version).read()
        return content.decode("utf-8") if as_text else content

    async def load_artifact_metadata(self, filename: str, version: int | str = "latest") -> dict[str, Any]:
        """Return `mime_type`, `size_bytes` and `version` of an artifact.

        Raises:
            FileNotFoundError: As `read_artifact`.
        """
        found = self._find(filename, version)
        return {"mime_type": found.mime_type, "size_bytes": found.size(), "version": found.version}

    async def list_artifacts(self) -> list[str]:
        """Return the names of the artifacts that came with the call."""
        return self._artifacts().names()

    async def artifact_exists(self, filename: str) -> bool:
        """Say whether an artifact came with the call."""
        return filename in self._artifacts().names()

    def load_artifact_by_param(self, param_name: str) -> bytes | None:
        """Return the content of the artifact that an argument names, or None."""
        found = self._artifacts().by_argument(param_name)
        return found.read() if found else None

    # Artifacts that the tool makes.

    def save_artifact(
        self,
        filename: str,
        content: bytes | str,
        mime_type: str = "application/octet-stream",
        *,
        description: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> str:
        """Store an output artifact and return its path; the same name again replaces it.

        Raises:
            ValueError: The name leaves the output folder.
            OSError: The file cannot be written.
        """
        raw = content.encode("utf-8") if isinstance(content, str) else content
        return self.output().save(
            filename, raw, mime_type=mime_type, description=description, metadata=metadata, disposition="artifact"
        )

    def save_artifact_text(
        self, filename: str, content: str, encoding: str = "utf-8", mime_type: str = "text/plain"
    ) -> str:
        """Store a text as an output artifact and return its path."""
        return self.save_artifact(filename, content.encode(encoding), mime_type)

    def list_output_artifacts(self) -> list[str]:
        """Return the names of the files stored so far."""
        return self.output().names()

    def output(self) -> OutputFolder:
        """Return the output folder of this call."""
        if self._output is None:
            from .output_folder import OutputFolder

            self._output = OutputFolder(self._output_dir)
        return self._output

    def close(self) -> None:
        """Finish status lines that are under way, write the artifact index, close connections."""
        if self._output is not None:
            self._output.write_index()
        if self._status is not None:
            self._status.close()
        if self._model is not None:
            self._model.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(app={self.app_name!r}, user={self.user_id!r}, session={self.session_id!r})"

    def _status_channel(self) -> StatusChannel:
        if self._status is None:
            from .status_channel import StatusChannel

            self._status = StatusChannel(self._status_pipe_path)
        return self._status

    def _artifacts(self) -> DeliveredArtifacts:
        if self._delivered is None:
            from .artifacts import DeliveredArtifacts

            self._delivered = DeliveredArtifacts(self._artifacts_given[0], self._artifact_paths)
        return self._delivered

    def _find(self, filename: str, version: int | str) -> DeliveredArtifact:
        return self._artifacts().by_name(filename, version)

    def _user_config(self) -> dict[str, Any]:
        value = self._user_config_given
        if isinstance(value, str) and value:
            from json import loads

            try:
                value = loads(value)
            except ValueError:
                return {}
        return value if isinstance(value, dict) else {}


def _status_text(message: object) -> str:
    if isinstance(message, str):
        return message
    if isinstance(message, dict | list):
        from .plain_json import encode

        return encode(message)[0]
    return str(message)


ToolContext = SandboxToolContextFacade
