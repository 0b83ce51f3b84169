"""Whom a command speaks for."""

from pathlib import Path

import pytest

from toolmesh_cli import exit_codes
from toolmesh_cli.mesh_connection import connect_to_mesh
from toolmesh_client.profile import ClientProfile, DevelopmentTokens, write_profile
from toolmesh_contracts.errors import ToolmeshError


def _profile(folder: Path) -> ClientProfile:
    return ClientProfile(
        namespace="default",
        broker_url="nats://127.0.0.1:1",
        executor="client",
        identity="client",
        executor_key_file=str(folder / "missing.json"),
        tokens=DevelopmentTokens(folder=str(folder), subject="ada", scopes=("*",)),
    )


@pytest.mark.parametrize("user", ["", "unknown", "x" * 5000, "two\nlines", "\udcff"])
async def test_a_user_that_no_token_can_name_is_wrong_usage(tmp_path: Path, user: str) -> None:
    """Told before anything is connected; signing in again would not cure it."""
    write_profile(tmp_path, _profile(tmp_path))

    with pytest.raises(ToolmeshError, match="--user can't be used") as caught:
        async with connect_to_mesh(tmp_path, user=user):
            pass

    assert exit_codes.exit_code_of(caught.value.code) == exit_codes.USAGE


async def test_a_scope_that_no_token_can_hold_is_wrong_usage(tmp_path: Path) -> None:
    """The option that is wrong is named."""
    write_profile(tmp_path, _profile(tmp_path))

    with pytest.raises(ToolmeshError, match="--scope can't be used"):
        async with connect_to_mesh(tmp_path, user="ada", scopes=["tool:x:use", ""]):
            pass
