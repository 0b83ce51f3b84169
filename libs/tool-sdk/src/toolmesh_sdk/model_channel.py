"""Call-backs to the host over a unix socket: newline-delimited JSON-RPC 2.0, one method, `llm/call`."""

from __future__ import annotations

from _thread import allocate_lock
from json import dumps, loads
from os import getpid
from time import monotonic

from .errors import IPCError
from .model_answer import ModelAnswer
from .model_descriptor import PREFIX, open_connection
from .model_question import question_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket
    from typing import Any

TIMEOUT_S = 120.0
REPLY_BYTES = 64 * 1024 * 1024


class IPCClient:
    """One connection, opened on first use, again after it was lost, and once more in a forked process.

    Args:
        socket_path: Path of the host's socket, or `fd:NUMBER` for a descriptor that gives connections.
        timeout_s: How long one call may take, in seconds.
    """

    __slots__ = ("_buffer", "_connection", "_last_id", "_locks", "_path", "_process", "_timeout_s")

    def __init__(self, socket_path: str, timeout_s: float = TIMEOUT_S) -> None:
        self._path = socket_path
        self._timeout_s = timeout_s
        self._connection: socket | None = None
        self._process = 0
        self._buffer = b""
        self._last_id = 0
        self._locks = {getpid(): allocate_lock()}

    def call_llm(
        self, system_prompt: str, user_prompt: str, temperature: float = 0.7, timeout_s: float | None = None
    ) -> str:
        """Return the text of `ask_model`.

        Raises:
            IPCError: As `ask_model`.
        """
        return self.ask_model(system_prompt, user_prompt, temperature, timeout_s=timeout_s).text

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
        """Ask the model; the host charges it to the caller's task.

        Raises:
            IPCError: An argument can't be sent, or the host refused, answered nonsense, took too long, or is gone.
        """
        problems = question_problems(system_prompt, user_prompt, temperature, model, max_tokens, timeout_s)
        if problems:
            raise IPCError(f"the question can't be asked: {'; '.join(problems)}")
        params: dict[str, Any] = {
            "system_prompt": system_prompt,
            "user_prompt": user_prompt,
            "temperature": temperature,
        }
        options = {"model": model or None, "max_tokens": max_tokens, "timeout_s": timeout_s}
        params.update({key: value for key, value in options.items() if value is not None})
        result = self.call("llm/call", params, timeout_s)
        fields = result if isinstance(result, dict) else {"text": result}
        if not isinstance(fields.get("text"), str):
            raise IPCError(f"the host's answer to llm/call has no text: {str(result)[:200]}")
        return _answer_of(fields)

    def call(self, method: str, params: dict[str, Any], timeout_s: float | None = None) -> Any:
        """Call one method and return its `result`.

        Raises:
            IPCError: As `call_llm`.
        """
        limit = self._timeout_s if timeout_s is None else timeout_s
        deadline = monotonic() + limit
        # One for each process: a fork may copy a lock that a thread holds which is not in the child.
        lock = self._locks.setdefault(getpid(), allocate_lock())
        if not lock.acquire(timeout=limit):
            raise IPCError(f"no answer to {method} within {limit:g} s: others are waited for", retryable=True)
        try:
            reply = self._ask(method, params, deadline)
        except TimeoutError:
            # A late answer is told from the next call's by its id, so the connection may stay.
            raise IPCError(f"no answer to {method} within {limit:g} s", retryable=True) from None
        except OSError as problem:
            self._disconnect()
            raise IPCError(f"the connection to the host failed: {problem}", retryable=True) from problem
        finally:
            lock.release()
        return _result_of(reply)

    def close(self) -> None:
        """Close the connection."""
        with self._locks.setdefault(getpid(), allocate_lock()):
            self._disconnect()

    def _ask(self, method: str, params: dict[str, Any], deadline: float) -> dict[str, Any]:
        self._last_id += 1
        identifier = str(self._last_id)
        request = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}
        left = deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        connection = self._connect(left)
        connection.sendall(dumps(request).encode("ascii") + b"\n")
        return self._reply_to(identifier, connection, deadline)

    def _connect(self, limit: float) -> socket:
        if self._process != getpid():
            self._disconnect()  # an inherited one is the parent's: its answers would come here
        if self._connection is None:
            self._connection = _connected(self._path, limit)
            self._process = getpid()
        self._connection.settimeout(limit)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._buffer = b""

    def _reply_to(self, identifier: str, connection: socket, deadline: float) -> dict[str, Any]:
        while True:
            line = self._read_line(connection, deadline)
            try:
                reply = loads(line)
            except (ValueError, RecursionError):
                raise IPCError(f"the host's answer is not JSON: {line[:200]!r}") from None
            if not isinstance(reply, dict):
                raise IPCError(f"the host's answer is not an object: {line[:200]!r}")
            # Notifications and answers to calls that timed out are not ours; an answer without an id is.
            if "method" not in reply and str(reply.get("id") or identifier) == identifier:
                return reply

    def _read_line(self, connection: socket, deadline: float) -> bytes:
        # Joined once: adding to bytes would copy a large reply for each part of it.
        parts = [self._buffer]
        size = len(self._buffer)
        while b"\n" not in parts[-1]:
            remaining = deadline - monotonic()
            if remaining <= 0 or size > REPLY_BYTES:
                self._buffer = b"".join(parts)
                if remaining <= 0:
                    raise TimeoutError
                raise ConnectionError(f"an answer of more than {REPLY_BYTES} bytes")
            connection.settimeout(remaining)
            try:
                part = connection.recv(1 << 16)
            except TimeoutError:
                self._buffer = b"".join(parts)
                raise
            if not part:
                raise ConnectionError("the host closed it")
            parts.append(part)
            size += len(part)
        line, _, self._buffer = b"".join(parts).partition(b"\n")
        return line


def _answer_of(fields: dict[str, Any]) -> ModelAnswer:
    model, usage = fields.get("model"), fields.get("usage")
    counts = [usage.get(f"{way}_tokens") if isinstance(usage, dict) else 0 for way in ("input", "output")]
    tokens = [count if isinstance(count, int) else 0 for count in counts]
    return ModelAnswer(fields["text"], model if isinstance(model, str) else "", *tokens)


def _connected(path: str, limit: float) -> socket:
    if path.startswith(PREFIX):
        return open_connection(path, limit)
    import socket

    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(limit)
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def _result_of(reply: dict[str, Any]) -> Any:
    problem = reply.get("error")
    if isinstance(problem, dict):
        code, message, more = problem.get("code"), problem.get("message"), problem.get("data")
        raise IPCError(
            f"IPC error {code}: {message}",
            code=code if isinstance(code, int) else None,
            retryable=isinstance(more, dict) and more.get("retryable") is True,
        )
    if problem is not None:
        raise IPCError(f"IPC error: {problem}")
    if "result" not in reply:
        raise IPCError(f"the host's answer has neither result nor error: {str(reply)[:200]}")
    return reply["result"]
