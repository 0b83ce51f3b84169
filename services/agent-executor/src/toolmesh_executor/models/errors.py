"""What can go wrong with a model, each with a stable code and what to do next."""

from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["ModelError", "ModelFailedError", "ModelNotConfiguredError", "ModelUnavailableError", "QuestionTooLongError"]


class ModelError(ToolmeshError):
    """Raised when a model gives no answer.

    Attributes:
        retryable: The same question may be answered a moment later.
        costs_nothing: The provider is known not to have charged for it.
        unreached: The provider is known not to have heard of it.
    """

    retryable = False
    costs_nothing = False
    unreached = False


class ModelNotConfiguredError(ModelError):
    """Raised when no model is set up, its provider is unknown, or its key is missing or refused."""

    default_code = ErrorCode.MODEL_NOT_CONFIGURED


class ModelFailedError(ModelError):
    """Raised when the provider refused the question, or its answer can't be used."""

    default_code = ErrorCode.MODEL_FAILED


class QuestionTooLongError(ModelFailedError):
    """Raised when the question has more tokens than the model takes."""


class ModelUnavailableError(ModelError):
    """Raised when the provider can't be reached, is overloaded or limits the rate.

    Attributes:
        retry_after_s: Seconds that the provider asked to wait, if it said.
    """

    default_code = ErrorCode.MODEL_UNAVAILABLE
    retryable = True

    def __init__(self, message: str, *, hint: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s
