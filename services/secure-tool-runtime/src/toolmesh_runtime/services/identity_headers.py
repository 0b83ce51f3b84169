"""What a service is told of a call: who makes it, and a signature by which it knows that this worker says so."""

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from toolmesh_contracts.envelopes.invocation import Invocation

__all__ = ["identity_headers", "signature"]


def identity_headers(invocation: Invocation) -> dict[str, str]:
    """Return the call's headers; values are percent-encoded UTF-8."""
    caller = invocation.caller
    values = {
        "User": caller.user,
        "Agent": caller.agent,
        "Session": caller.session,
        "Task": caller.task,
        "Tool": invocation.tool,
        "Invocation": invocation.id,
    }
    return {f"X-Toolmesh-{name}": quote(value, safe="@") for name, value in values.items()}


def signature(secret: str, now: int, method: str, url: str, identity: Mapping[str, str], body: bytes) -> str:
    """Return `t=<Unix seconds>,v1=<hex>`: an HMAC-SHA256 over time, method, path with query, identity and body.

    What is signed are lines: `v1`, the time, the method, the path with its query, the values of the identity headers in
    the order User, Agent, Session, Task, Tool, Invocation, and the body's SHA-256 in hex; joined by line feeds.
    """
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = ["v1", str(now), method, target, *identity.values(), hashlib.sha256(body).hexdigest()]
    digest = hmac.new(secret.encode(), "\n".join(lines).encode(), hashlib.sha256).hexdigest()
    return f"t={now},v1={digest}"
