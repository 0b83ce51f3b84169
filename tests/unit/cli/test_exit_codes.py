"""The table of exit codes."""

import pytest

from toolmesh_cli import exit_codes
from toolmesh_cli.exit_codes import EXIT_CODES, exit_code_of
from toolmesh_contracts.errors import ErrorCode


def test_every_error_code_has_an_exit_code() -> None:
    """A new error code can't be forgotten in the table."""
    assert set(EXIT_CODES) == set(ErrorCode)
    assert set(EXIT_CODES.values()) <= {1, 2, 3, 4, 5, 6, 130}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("TOOL_ERROR", exit_codes.FAILED),
        ("INVALID_CONFIGURATION", exit_codes.USAGE),
        ("BROKER_UNREACHABLE", exit_codes.UNREACHABLE),
        ("PERMISSION_DENIED", exit_codes.DENIED),
        ("AUTHENTICATION_FAILED", exit_codes.DENIED),
        ("SANDBOX_TIMEOUT", exit_codes.TIMED_OUT),
        ("DEADLINE_EXCEEDED", exit_codes.TIMED_OUT),
        ("CANCELLED", exit_codes.CANCELLED),
        ("A_CODE_OF_A_NEWER_WORKER", exit_codes.FAILED),
    ],
)
def test_codes_map_as_documented(code: str, expected: int) -> None:
    """The documented codes hold, and an unknown code counts as a failure."""
    assert exit_code_of(code) == expected
