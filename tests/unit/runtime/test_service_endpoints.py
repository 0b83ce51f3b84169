"""Which URLs a worker calls for a tool, at which addresses, and what it signs."""

import hashlib
import hmac

import pytest

from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.values import Caller
from toolmesh_contracts.worker_config import ServiceEndpoint
from toolmesh_runtime.services.endpoints import ServiceRefusedError, find_endpoint, resolve
from toolmesh_runtime.services.identity_headers import identity_headers, signature


@pytest.mark.parametrize(
    ("allowed", "url", "found"),
    [
        ("https://app.test/tools", "https://app.test/tools", True),
        ("https://app.test/tools", "https://app.test/tools/a?x=1", True),
        ("https://app.test/tools/", "https://app.test/tools/a", True),
        ("https://app.test", "https://app.test/anything", True),
        ("https://app.test", "https://app.test:443/anything", True),
        ("https://app.test", "https://APP.test./anything", True),
        ("https://app.test/tools", "https://app.test/toolsmith", False),
        ("https://app.test/tools", "https://app.test/tools/../admin", False),
        ("https://app.test/tools", "https://app.test/tools/%2e%2e/admin", False),
        ("https://app.test/tools", "https://app.test/tools/..\\admin", False),
        ("https://app.test/tools", "http://app.test/tools", False),
        ("https://app.test/tools", "https://app.test:8443/tools", False),
        ("https://app.test", "https://app.test.evil.test/", False),
        ("https://app.test", "https://evil.test/https://app.test", False),
    ],
)
@pytest.mark.requirement("declared:services")
def test_only_what_lies_below_an_allowed_url_is_called(allowed: str, url: str, found: bool) -> None:
    """The same origin, and the path or one below it, however it is spelt."""
    endpoint = ServiceEndpoint(url=allowed)

    assert (find_endpoint(url, [ServiceEndpoint(url="https://other.test"), endpoint]) == endpoint) is found


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "localhost"),  # noqa: S104
        *("[::1]", "[::ffff:10.0.0.1]", "[fe80::1]", "[fd00::1]"),
    ],
)
@pytest.mark.requirement("declared:services")
async def test_addresses_that_are_not_public_are_refused(host: str) -> None:
    """Unless the operator allows it for this endpoint."""
    url = f"http://{host}/x"
    with pytest.raises(ServiceRefusedError, match="not public"):
        await resolve(url, ServiceEndpoint(url=f"http://{host}"))

    assert await resolve(url, ServiceEndpoint(url=f"http://{host}", private=True))


async def test_public_addresses_pass() -> None:
    """As they are written."""
    assert await resolve("https://93.184.215.14/x", ServiceEndpoint(url="https://93.184.215.14")) == ["93.184.215.14"]


async def test_a_host_that_is_not_there_is_told() -> None:
    """By name."""
    with pytest.raises(ServiceRefusedError, match=r"'nowhere\.invalid' can't be found"):
        await resolve("https://nowhere.invalid/", ServiceEndpoint(url="https://nowhere.invalid"))


def test_the_signature_covers_who_what_and_when() -> None:
    """As docs/declared-tools.md tells a service to check it; values can't run into one another."""
    invocation = Invocation(
        id="i-1",
        tool="ask",
        exposed_name="ask",
        pool="default",
        executor="e",
        caller=Caller(user="ada@example.org\nx", agent="zoë"),
        deadline_ms=1,
    )
    identity = identity_headers(invocation)
    signed = signature("key", 5, "POST", "https://app.test/a?b=1", identity, b"{}")

    assert identity["X-Toolmesh-User"] == "ada@example.org%0Ax"
    assert identity["X-Toolmesh-Agent"] == "zo%C3%AB"
    lines = ["v1", "5", "POST", "/a?b=1", "ada@example.org%0Ax", "zo%C3%AB", "", "", "ask", "i-1"]
    text = "\n".join([*lines, hashlib.sha256(b"{}").hexdigest()])
    assert signed == "t=5,v1=" + hmac.new(b"key", text.encode(), hashlib.sha256).hexdigest()
