"""The keys that one machine makes for itself."""

import json
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolmesh_identity import rotation, tokens
from toolmesh_identity.development import ISSUER_NAME, DevelopmentIssuer
from toolmesh_identity.errors import KeyFileError, TokenInvalidError
from toolmesh_identity.keys import SealingPublicKey, VerifyingKeys
from toolmesh_identity.sealing import open_sealed, seal
from toolmesh_identity.signatures import CallFields, sign_call, verify_call


def test_a_token_verifies_with_the_public_file_alone(tmp_path: Path) -> None:
    """A worker that has only that file believes the token, with all that was asked for in it."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "identity")
    token = issuer.token(
        "user-1", ("a:b:c",), audience="lab", ttl_s=60, task="t", agent="a", session="s", profile={"id": "user-1"}
    )
    keys = VerifyingKeys.from_file(issuer.issuer_public_file)
    claims = tokens.verify(token, keys, audience="lab", issuer=ISSUER_NAME, now=time.time())
    assert (claims.subject, claims.scopes, claims.task, claims.agent, claims.session) == (
        "user-1",
        ("a:b:c",),
        "t",
        "a",
        "s",
    )
    assert claims.profile == {"id": "user-1"}
    assert claims.expires_at - claims.issued_at == 60


def test_issuer_and_executor_have_different_keys(tmp_path: Path) -> None:
    """An executor can't mint tokens, and the issuer's key signs no calls."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "identity")
    assert issuer.issuer_key().kid != issuer.executor_key().kid
    call = CallFields.of(
        invocation="i", pool="p", tool="t", deadline_ms=1, required_scopes=(), agent="a", body=b"", token="secret"
    )
    assert verify_call(sign_call(call, issuer.executor_key()), call, issuer.executor_public_keys())
    with pytest.raises(TokenInvalidError):
        tokens.verify(
            issuer.token("user-1", (), audience="lab"),
            issuer.executor_public_keys(),
            audience="lab",
            issuer=ISSUER_NAME,
            now=time.time(),
        )
    assert issuer.issuer_public_keys().kids == (issuer.issuer_key().kid,)


def test_each_pool_has_its_own_sealing_key(tmp_path: Path) -> None:
    """Made on the first request, kept afterwards."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "identity")
    box = seal(b"secret", issuer.sealing_public_key("default"), b"")
    again = DevelopmentIssuer.create_or_load(tmp_path / "identity")
    assert open_sealed(box, again.sealing_keys("default"), b"") == b"secret"
    assert again.sealing_keys("other").newest.kid != again.sealing_keys("default").newest.kid


def test_everything_private_is_closed_to_others(tmp_path: Path) -> None:
    """Folders 0700, private files 0600, and no private part in a public file."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "identity")
    issuer.sealing_key_file("default")
    for path in (issuer.folder, *issuer.folder.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.is_dir():
            assert mode == 0o700, path
        elif path.name.endswith(".private.json"):
            assert mode == 0o600, path
        else:
            assert all("d" not in key for key in json.loads(path.read_bytes())["keys"]), path
    assert len([path for path in issuer.folder.rglob("*") if path.is_file()]) == 6


def test_a_rotation_reaches_the_public_file(tmp_path: Path) -> None:
    """The next start publishes the new key beside the old one."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "identity")
    issuer.sealing_key_file("default")
    kid = rotation.rotate(issuer.issuer_key_file)
    assert kid not in issuer.issuer_public_keys().kids
    assert DevelopmentIssuer.create_or_load(issuer.folder).issuer_public_keys().kids[-1] == kid
    kid = rotation.rotate(issuer.sealing_key_file("default"), "X25519")
    assert issuer.sealing_public_key("default").kid == kid


@pytest.mark.parametrize("pool", ["", "..", ".hidden", "a/b", "../../x", "a\x00b", "a b", "x" * 129])
def test_a_pool_name_is_never_a_path(tmp_path: Path, pool: str) -> None:
    """No name reaches outside the pools' folder."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "identity")
    with pytest.raises(KeyFileError) as caught:
        issuer.sealing_key_file(pool)
    assert caught.value.reason == "bad_pool"


def test_a_folder_open_to_others_is_refused(tmp_path: Path) -> None:
    """Keys are not put where others can look."""
    tmp_path.chmod(0o755)
    with pytest.raises(KeyFileError, match="chmod 700"):
        DevelopmentIssuer.create_or_load(tmp_path)


def test_many_processes_at_once_agree_on_the_keys(tmp_path: Path) -> None:
    """Every process that starts at the same moment gets the very same keys, and no draft stays behind."""
    program = """
import pathlib, sys
from toolmesh_identity.development import DevelopmentIssuer
print("ready", flush=True)
sys.stdin.readline()
issuer = DevelopmentIssuer.create_or_load(pathlib.Path(sys.argv[1]))
print(issuer.issuer_key().kid, issuer.executor_key().kid, issuer.sealing_keys("default").newest.kid)
print(*issuer.issuer_public_keys().kids, *issuer.executor_public_keys().kids, issuer.sealing_public_key("default").kid)
"""
    folder = tmp_path / "deep" / "identity"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    outputs = {process.communicate("go\n", timeout=50)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    (output,) = outputs
    private, public = output.splitlines()
    assert private == public
    assert not [path for path in folder.rglob("*") if path.name.endswith(".new")]
    document = json.loads((folder / "public" / "pools" / "default.json").read_bytes())
    assert SealingPublicKey.from_jwks(document).kid == private.split()[-1]
