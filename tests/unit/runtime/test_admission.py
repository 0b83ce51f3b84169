"""A worker runs only what a known executor signed for this pool, for a caller with a valid token and the scopes."""

import time
from pathlib import Path

import msgspec
import pytest
from tests.support.signed_calls import Delivered, invocation, message

from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.invocation_headers import InvocationHeaders
from toolmesh_contracts.sealed_config import sealing_context
from toolmesh_identity.development import DevelopmentIssuer
from toolmesh_identity.sealing import seal
from toolmesh_identity.signatures import CallFields, sign_call
from toolmesh_runtime.admission import CallRefusedError, Verifier, require_scopes


@pytest.fixture
def issuer(tmp_path: Path) -> DevelopmentIssuer:
    """Keys of a mesh."""
    return DevelopmentIssuer.create_or_load(tmp_path / "keys")


@pytest.fixture
def verifier(issuer: DevelopmentIssuer) -> Verifier:
    """A worker of pool `default`."""
    return Verifier(
        namespace="test",
        pool="default",
        issuer=issuer.name,
        issuer_keys=issuer.issuer_public_keys(),
        executor_keys=issuer.executor_public_keys(),
        sealing_keys=issuer.sealing_keys("default"),
    )


def test_right_call_is_admitted(issuer: DevelopmentIssuer, verifier: Verifier) -> None:
    """With the claims of its caller."""
    call = verifier.admit(message(issuer, invocation()), time.time())
    assert call.claims.subject == "ada"
    require_scopes(call, ())


def refusal(verifier: Verifier, delivered: Delivered, now: float | None = None) -> CallRefusedError:
    with pytest.raises(CallRefusedError) as caught:
        verifier.admit(delivered, time.time() if now is None else now)
    return caught.value


@pytest.mark.requirement("call:verified-first")
def test_forged_calls_are_refused_before_the_body_is_read(issuer: DevelopmentIssuer, verifier: Verifier) -> None:
    """Another body, token, pool, key or no signature: refused, and the body, which is no call at all, is not decoded."""
    good = message(issuer, invocation())
    other = message(issuer, invocation())
    strange_pool = message(issuer, invocation(pool="other"))
    for forged in (
        Delivered(good.headers, b"{ not even JSON"),
        Delivered({**good.headers, "Tm-Token": other.headers["Tm-Token"] + "x"}, good.body),
        Delivered({**good.headers, "Tm-Signature": other.headers["Tm-Signature"]}, good.body),
        Delivered({key: value for key, value in good.headers.items() if key != "Tm-Signature"}, good.body),
        strange_pool,
    ):
        error = refusal(verifier, forged)
        assert error.code is ErrorCode.AUTHENTICATION_FAILED
        assert error.invocation is None


def test_signed_call_with_a_bad_token_is_refused_and_its_caller_told(
    issuer: DevelopmentIssuer, verifier: Verifier
) -> None:
    """An expired token, one of another namespace, or one of another user than the body says."""
    cases = [
        (message(issuer, invocation()), time.time() + 7200),
        (message(issuer, invocation(), audience="other"), time.time()),
        (message(issuer, invocation(), user="eve"), time.time()),
    ]
    for delivered, now in cases:
        error = refusal(verifier, delivered, now)
        assert error.code is ErrorCode.AUTHENTICATION_FAILED
        assert error.invocation is not None


def test_signed_rubbish_is_refused_as_a_request(issuer: DevelopmentIssuer, verifier: Verifier) -> None:
    """A body that is no invocation, though rightly signed, is the executor's fault and says so."""
    call = invocation()
    token = issuer.token("ada", (), audience="test")
    fields = CallFields.of(
        invocation=call.id,
        pool="default",
        tool="t",
        deadline_ms=call.deadline_ms,
        required_scopes=(),
        agent=call.caller.agent,
        body=b"[]",
        token=token,
    )
    headers = InvocationHeaders(
        invocation=call.id,
        tool="t",
        deadline_ms=call.deadline_ms,
        required_scopes=(),
        token=token,
        signature=sign_call(fields, issuer.executor_key()),
        agent=call.caller.agent,
    )
    assert refusal(verifier, Delivered(headers.to_headers(), b"[]")).code is ErrorCode.INVALID_REQUEST


def test_missing_scopes_are_named(issuer: DevelopmentIssuer, verifier: Verifier) -> None:
    """Those that the executor signed, and those of the tool's own manifest."""
    call = verifier.admit(message(issuer, invocation(), scopes=("other:*:*",)), time.time())
    with pytest.raises(CallRefusedError, match=r"x:y:z, tool:own:run") as caught:
        require_scopes(call, ("tool:own:run",))
    assert caught.value.code is ErrorCode.PERMISSION_DENIED


def test_sealed_configuration_is_opened_for_its_own_call_only(issuer: DevelopmentIssuer, verifier: Verifier) -> None:
    """The secret is merged in and listed; the same box in another call is refused."""
    call = invocation(tool_config=msgspec.Raw(b'{"units": "c"}'))
    box = seal(
        b'[[["url"], "s3cret"]]', issuer.sealing_public_key("default"), sealing_context("test", "default", call.id)
    )
    config, secrets = verifier.open_config(msgspec.structs.replace(call, sealed_config=box))
    assert config == {"units": "c", "url": "s3cret"}
    assert secrets == ("s3cret",)
    with pytest.raises(CallRefusedError):
        verifier.open_config(invocation(sealed_config=box))


@pytest.mark.parametrize("config", [b"[]", b"null", b"{"])
def test_configuration_that_is_no_object_is_refused(verifier: Verifier, config: bytes) -> None:
    """One clear error that names the field."""
    with pytest.raises(CallRefusedError, match="tool_config"):
        verifier.open_config(invocation(tool_config=msgspec.Raw(config)))
