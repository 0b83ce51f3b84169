"""Typed errors of the sandbox: a stable code, a sentence that names the thing, and a hint that says what to do."""


class SandboxError(Exception):
    """Base of every error that this library raises on purpose.

    Attributes:
        code: stable, machine-readable name of the kind of failure.
        message: what went wrong, naming the file, field or value.
        hint: what to do next; may be empty.
    """

    code = "SANDBOX_ERROR"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.message = message
        self.hint = hint


class SandboxUnavailableError(SandboxError):
    """This machine can't give the isolation that was asked for; `missing` names the kernel or container option."""

    code = "SANDBOX_UNAVAILABLE"

    def __init__(self, message: str, hint: str = "", missing: str = "") -> None:
        super().__init__(message, hint)
        self.missing = missing


class PolicyRefusedError(SandboxError):
    """The chosen backend can't enforce this policy, so it does not run the command at all."""

    code = "POLICY_REFUSED"


class PolicyInvalidError(SandboxError):
    """A policy, mount, environment or argument vector that no backend may run."""

    code = "POLICY_INVALID"


class SandboxExhaustedError(SandboxError):
    """Nothing is wrong with the machine, but a bounded resource of the sandbox is used up; try again later."""

    code = "SANDBOX_EXHAUSTED"


class BaseFolderError(SandboxError):
    """The folder below which workspaces and published trees live can't be trusted or made."""

    code = "BASE_FOLDER_INVALID"


class PublishError(SandboxError):
    """A tree that can't be published: an escaping link, a special file, or too much of it."""

    code = "PUBLISH_REFUSED"


class OutputRefusedError(SandboxError):
    """A file in a workspace that is missing, not an ordinary file, or over its cap."""

    code = "OUTPUT_REFUSED"


class OutputTooLargeError(OutputRefusedError):
    """A file in a workspace that is over its cap."""

    code = "OUTPUT_TOO_LARGE"
