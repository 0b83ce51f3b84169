"""What is checked of a request before anything is written."""

import time

from toolmesh_client.errors import CallNotSignedInError, InvalidCallError
from toolmesh_client.request import CallRequest
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_identity.claims import Claims

__all__ = ["check_form", "deadline_ms_of"]


def check_form(request: CallRequest) -> None:
    """Refuse what a caller without type checks may give, such as a model's answer or a value from a file."""
    names: dict[str, object] = {"tool": request.tool}
    if request.pool is not None:
        names["pool"] = request.pool
    for what, name in names.items():
        if not isinstance(name, str):
            raise InvalidCallError(f"the {what}'s name must be text, not {type(name).__name__}")
    timeout_s: object = request.timeout_s
    if timeout_s is None:
        return
    if not isinstance(timeout_s, (int, float)):
        raise InvalidCallError(f"timeout_s must be a number of seconds, not {type(timeout_s).__name__}")
    if not timeout_s > 0:
        raise InvalidCallError(f"a timeout of {timeout_s:g} s leaves no time", hint="give more than 0 s")


def deadline_ms_of(request: CallRequest, entry: CatalogEntry, claims: Claims, queue_s: float) -> int:
    """Return the call's deadline: the request's, else the tool's limit plus a time in the queue; not past the token."""
    now = time.time()
    if claims.expires_at <= now:
        raise CallNotSignedInError("the caller's token has expired", hint="sign in again")
    timeout_s = entry.timeout_ms / 1000 + queue_s if request.timeout_s is None else request.timeout_s
    return int(min(now + timeout_s, claims.expires_at) * 1000)
