"""What a command tells of an error that ended it."""

from pathlib import Path

import pytest

from toolmesh_cli.failures import describe
from toolmesh_contracts.errors import ErrorCode


def test_a_file_that_cant_be_used_is_named(tmp_path: Path) -> None:
    """Wrong usage, with the path to check."""
    with pytest.raises(OSError, match="missing") as caught:
        (tmp_path / "missing").read_bytes()
    failure = describe(caught.value)
    assert failure is not None
    assert (failure.code, failure.exit_code) == (ErrorCode.INVALID_CONFIGURATION, 2)
    assert str(tmp_path / "missing") in failure.message


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionResetError(104, "Connection reset by peer")])
def test_an_error_of_no_file_is_not_blamed_on_a_path(error: OSError) -> None:
    """A timeout that nobody turned into an error of its own is a fault of toolmesh, alone or in a group."""
    assert describe(error) is None
    assert describe(ExceptionGroup("several", [error])) is None
