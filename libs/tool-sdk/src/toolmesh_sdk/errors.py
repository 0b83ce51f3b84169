"""What can go wrong in a tool process, in the words that reach the agent and the operator."""

from __future__ import annotations


class ToolError(Exception):
    """A failure that a tool explains itself: the message goes to the model as it is.

    Args:
        message: What went wrong and what could be done, without secrets.
        retryable: True when the same call may succeed a moment later.
    """

    def __init__(self, message: str = "", *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class IPCError(Exception):
    """A call-back to the host (`call_llm`) failed.

    Args:
        message: What failed.
        code: The JSON-RPC error code that the host sent, if it sent one.
        retryable: True for time-outs and lost connections, and where the host says so.
    """

    def __init__(self, message: str = "", *, code: int | None = None, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


class ToolCancelledError(BaseException):
    """The host asked this call to stop; like KeyboardInterrupt, `except Exception` lets it pass."""


class InvalidArgumentsError(Exception):
    """The arguments do not fit the tool's parameters; every problem is named at once."""

    def __init__(self, tool: str, problems: list[str]) -> None:
        super().__init__(f"Invalid arguments for {tool}: " + "; ".join(problems))
        self.problems = problems


class UnknownToolError(Exception):
    """The call names a tool that this executable does not have."""


class ResultNotSerialisableError(Exception):
    """A tool returned something that JSON cannot carry; the message says where it sits."""


class ToolDefinitionError(Exception):
    """A tool cannot be described: no docstring, two tools of one name, an annotation or property that says nothing.

    Args:
        message: What is wrong, and what to write.
        place: File and line of it, if there is one.
    """

    def __init__(self, message: str, place: tuple[str, int] | None = None) -> None:
        super().__init__(message)
        self.place = place


class RunnerArgsError(Exception):
    """The arguments file of a call is missing, unreadable or not a JSON object."""
