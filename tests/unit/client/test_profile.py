"""How a program finds a running toolmesh, and what it is told when there is none."""

import json
import os
import stat
import time
from pathlib import Path

import pytest

from toolmesh_broker.errors import BrokerUnreachableError
from toolmesh_client.errors import CallNotSignedInError, ProfileError
from toolmesh_client.profile import (
    ClientProfile,
    DevelopmentTokens,
    EnvironmentTokens,
    FileTokens,
    data_folder,
    read_profile,
    settings_from,
    write_profile,
)
from toolmesh_client.token_claims import read_claims
from toolmesh_client.tokens import RefreshingTokens
from toolmesh_contracts.errors import ErrorCode
from toolmesh_identity.development import DevelopmentIssuer


def a_profile(folder: Path, tokens: DevelopmentTokens | FileTokens | EnvironmentTokens | None = None) -> ClientProfile:
    issuer = DevelopmentIssuer.create_or_load(folder / "keys")
    return ClientProfile(
        namespace="demo",
        broker_url="nats://127.0.0.1:4222",
        executor="cli",
        identity="executor__cli",
        executor_key_file=str(issuer.executor_key_file),
        tokens=tokens or DevelopmentTokens(folder=str(issuer.folder), subject="ada", scopes=("tool:*:*",)),
        nkey_seed_file=str(folder / "cli.nk"),
        sealing_key_files={"default": str(issuer.sealing_public_file("default"))},
    )


async def test_a_profile_gives_settings_and_tokens(tmp_path: Path) -> None:
    """What `toolmesh up` writes is enough to call tools."""
    path = write_profile(tmp_path, a_profile(tmp_path))
    settings = settings_from(read_profile(path))
    assert settings.namespace == "demo"
    assert settings.connection.servers == ("nats://127.0.0.1:4222",)
    assert settings.connection.nkey_seed_file == tmp_path / "cli.nk"
    assert set(settings.sealing_keys) == {"default"}
    claims = read_claims(await settings.tokens())
    assert (claims.subject, claims.audience, claims.scopes) == ("ada", "demo", ("tool:*:*",))


def test_a_profile_is_private_and_holds_no_secret(tmp_path: Path) -> None:
    """Mode 0600, and paths instead of keys and tokens."""
    path = write_profile(tmp_path, a_profile(tmp_path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    private = json.loads((tmp_path / "keys" / "executor.private.json").read_bytes())
    assert private["keys"][0]["d"] not in path.read_text()
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_a_missing_profile_says_how_to_start(tmp_path: Path) -> None:
    """A person who calls a tool before `toolmesh up` learns what to type."""
    with pytest.raises(BrokerUnreachableError) as caught:
        read_profile(tmp_path / "client.json")
    assert caught.value.code is ErrorCode.BROKER_UNREACHABLE
    assert "toolmesh up" in str(caught.value)


def test_a_stale_profile_says_how_to_start(tmp_path: Path) -> None:
    """Keys that are gone mean that the mesh that wrote the profile is gone."""
    profile = a_profile(tmp_path)
    Path(profile.executor_key_file).unlink()
    with pytest.raises(BrokerUnreachableError, match="toolmesh up"):
        settings_from(profile)


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b'{"version": 2}', b"\xff\xfe", b"[]"])
def test_a_broken_profile_is_named(tmp_path: Path, content: bytes) -> None:
    """The error names the file and the cure."""
    path = tmp_path / "client.json"
    path.write_bytes(content)
    with pytest.raises(ProfileError) as caught:
        read_profile(path)
    assert str(path) in str(caught.value)
    assert "toolmesh up" in str(caught.value)


def test_a_profile_that_others_can_write_is_refused(tmp_path: Path) -> None:
    """Who can write it could send calls and tokens to a broker of their own."""
    path = write_profile(tmp_path, a_profile(tmp_path))
    path.chmod(0o622)
    with pytest.raises(ProfileError, match="chmod 600"):
        read_profile(path)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TOOLMESH_DATA": "/x/y", "XDG_DATA_HOME": "/z"}, Path("/x/y")),
        ({"XDG_DATA_HOME": "/z"}, Path("/z/toolmesh")),
        ({"XDG_DATA_HOME": "relative"}, Path.home() / ".local/share/toolmesh"),
        ({}, Path.home() / ".local/share/toolmesh"),
    ],
)
def test_the_data_folder_follows_the_environment(environment: dict[str, str], expected: Path) -> None:
    """Own variable first, then the XDG base directory, then its default."""
    assert data_folder(environment) == expected


async def test_tokens_come_from_a_file(tmp_path: Path) -> None:
    """A sign-in program keeps the file up to date; its absence is a plain error."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "keys")
    file = tmp_path / "token"
    settings = settings_from(a_profile(tmp_path, FileTokens(path=str(file))))
    with pytest.raises(CallNotSignedInError, match="can't be read"):
        await settings.tokens()
    file.write_text("")
    with pytest.raises(CallNotSignedInError, match="is empty"):
        await settings.tokens()
    file.write_text(issuer.token("ada", (), audience="demo") + "\n")
    assert read_claims(await settings.tokens()).subject == "ada"


async def test_tokens_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For programs that are handed a token."""
    settings = settings_from(a_profile(tmp_path, EnvironmentTokens(variable="MY_TOKEN")))
    monkeypatch.delenv("MY_TOKEN", raising=False)
    with pytest.raises(CallNotSignedInError, match="MY_TOKEN is not set"):
        await settings.tokens()
    monkeypatch.setenv("MY_TOKEN", "a.b.c")
    assert await settings.tokens() == "a.b.c"
    assert os.environ["MY_TOKEN"] == "a.b.c"


async def test_a_token_is_kept_and_fetched_again_before_it_expires(tmp_path: Path) -> None:
    """One token serves many calls; one that is about to expire serves none, unless there is no other."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "keys")
    ttls = [3600, 1, 3600]
    asked = 0

    async def source() -> str:
        nonlocal asked
        asked += 1
        if not ttls:
            raise CallNotSignedInError("no more")
        return issuer.token("ada", (), audience="demo", ttl_s=ttls.pop(0))

    tokens = RefreshingTokens(source)
    first = await tokens()
    assert await tokens() == first
    assert asked == 1

    short = RefreshingTokens(source)
    kept = await short()
    deadline = time.monotonic() + 10
    while await short() == kept:
        assert time.monotonic() < deadline
    assert asked == 3


async def test_a_source_that_fails_leaves_a_valid_token_in_use(tmp_path: Path) -> None:
    """A sign-in service that is away for a moment stops nobody."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "keys")
    answers = [issuer.token("ada", (), audience="demo", ttl_s=2)]

    async def source() -> str:
        if not answers:
            raise CallNotSignedInError("away")
        return answers.pop()

    tokens = RefreshingTokens(source)
    kept = await tokens()
    deadline = time.monotonic() + 10
    uses = 0
    with pytest.raises(CallNotSignedInError, match="away"):  # noqa: PT012 - the loop is the one statement
        while time.monotonic() < deadline:
            assert await tokens() == kept
            uses += 1
    assert uses > 1


@pytest.mark.parametrize("token", ["", "a.b", "a.b.c", "a.!!.c", "a.e30.c", "a.W10.c", "x" * 100_000])
def test_what_is_no_token_is_refused_without_showing_it(token: str) -> None:
    """A broken token never reaches a message."""
    with pytest.raises(CallNotSignedInError) as caught:
        read_claims(token)
    assert not token or token not in str(caught.value)
