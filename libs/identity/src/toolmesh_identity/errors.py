"""What can be wrong with a token, a signature, a sealed box or a key file."""

from typing import ClassVar


class IdentityError(Exception):
    """Base of this package's errors.

    Attributes:
        code: Stable word for programs, the same for every error of a class.
        reason: Stable finer word, such as `unknown_kid` or `wrong_audience`.
        message: For people; never holds key material, a token or a plaintext.
    """

    code: ClassVar[str] = "IDENTITY_ERROR"

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason


class TokenInvalidError(IdentityError):
    """Raised when a token proves nothing: malformed, wrongly signed, or for someone else."""

    code = "TOKEN_INVALID"


class TokenExpiredError(TokenInvalidError):
    """Raised when a token was right once and its time is over."""

    code = "TOKEN_EXPIRED"


class SignatureInvalidError(IdentityError):
    """Raised when a call is not the call that an executor signed.

    Attributes:
        fields: Names of the fields that differ from the signed ones, when they can be told.
    """

    code = "SIGNATURE_INVALID"

    def __init__(self, message: str, *, reason: str, fields: tuple[str, ...] = ()) -> None:
        super().__init__(message, reason=reason)
        self.fields = fields


class SealError(IdentityError):
    """Raised when a box can't be sealed, or can't be opened with these keys in this context."""

    code = "SEAL_INVALID"


class KeyFileError(IdentityError):
    """Raised when a key or the file that should hold it can't be used."""

    code = "KEY_FILE_INVALID"
