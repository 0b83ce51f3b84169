"""One call of a service: the arguments as JSON, the answer's text as the result."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

import httpx2

from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.vessel import Service
from toolmesh_contracts.worker_config import ServiceEndpoint
from toolmesh_runtime.declared.command_output import CutText, cut_text
from toolmesh_runtime.process.result_envelope import ToolReturn, failure
from toolmesh_runtime.services.endpoints import ServiceRefusedError, endpoint_secrets, find_endpoint, resolve
from toolmesh_runtime.services.identity_headers import identity_headers, signature
from toolmesh_sandbox.pipes import Capture
from toolmesh_telemetry.redaction import Redactor

__all__ = ["call_service"]

_KEPT_BYTES: Final = 10 * 1024 * 1024
_SUCCESS: Final = range(200, 300)


async def call_service(
    service: Service,
    invocation: Invocation,
    body: bytes,
    endpoints: Sequence[ServiceEndpoint],
    *,
    limit: int,
    wall_clock_s: float,
) -> ToolReturn:
    """Call a service and return what it said; redirects are not followed.

    Args:
        service: What the tool's file says.
        invocation: The call.
        body: The arguments.
        endpoints: What this worker may call.
        limit: Characters that the model sees.
        wall_clock_s: Seconds in all.

    Raises:
        ServiceRefusedError: the URL, or its host's address, is not allowed.
    """
    endpoint = find_endpoint(service.url, endpoints)
    if endpoint is None:
        raise ServiceRefusedError(f"this worker may not call {service.url}")
    kept = Capture(_KEPT_BYTES)
    status: int | None = None
    timed_out = False
    try:
        async with asyncio.timeout(wall_clock_s):
            status = await _exchange(service, endpoint, invocation, body, kept)
    except TimeoutError:
        timed_out = True
    except (httpx2.HTTPError, OSError) as error:
        reason = str(error) or type(error).__name__
        unreached = isinstance(error, httpx2.ConnectError)
        return failure(ErrorCode.TOOL_ERROR, f"the service could not be called: {reason}", retryable=unreached)
    text = cut_text(kept.kept, kept.dropped, kept.dropped_characters, limit)
    returned = _returned(text, status, wall_clock_s if timed_out else None)
    hide = Redactor()
    hide.add(*endpoint_secrets(endpoint))
    return replace(returned, message=hide.exact(returned.message))


async def _exchange(
    service: Service, endpoint: ServiceEndpoint, invocation: Invocation, body: bytes, kept: Capture
) -> int:
    """Send the request to the first address that answers, and read the answer; return its status."""
    addresses = await resolve(service.url, endpoint)
    headers = _headers(service, endpoint, invocation, body)
    # No proxy and no credentials of the worker's environment.
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=None) as client:
        for number, address in enumerate(addresses, start=1):
            try:
                return await _send(client, service, address, headers, body, kept)
            except httpx2.ConnectError:
                if number == len(addresses):
                    raise
    raise ServiceRefusedError(f"the host of {service.url} has no address")


async def _send(
    client: httpx2.AsyncClient, service: Service, address: str, headers: dict[str, str], body: bytes, kept: Capture
) -> int:
    parts = urlsplit(service.url)
    host = f"[{address}]" if ":" in address else address
    target = httpx2.URL(service.url).copy_with(host=host)
    # The certificate has to be that of the host's name; the connection goes to the address that was checked.
    extensions = {"sni_hostname": parts.hostname or ""} if parts.scheme == "https" else {}
    request = client.stream(service.method, target, content=body, headers=headers, extensions=extensions)
    async with request as response:
        async for chunk in response.aiter_raw():
            kept.add(chunk)
        return response.status_code


def _headers(service: Service, endpoint: ServiceEndpoint, invocation: Invocation, body: bytes) -> dict[str, str]:
    parts = urlsplit(service.url)
    identity = identity_headers(invocation)
    headers = {
        "Accept": "*/*",
        "User-Agent": "toolmesh",
        **service.headers,
        **endpoint.headers,
        "Host": parts.netloc,
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",  # what is counted is what is kept
        **identity,
    }
    if endpoint.signing_secret is not None:
        signed = signature(endpoint.signing_secret, int(time.time()), service.method, service.url, identity, body)
        headers["X-Toolmesh-Signature"] = signed
    return headers


def _returned(text: CutText, status: int | None, timed_out_after_s: float | None) -> ToolReturn:
    message = text.shown
    error = None
    if timed_out_after_s is not None:
        line_end = "" if not message or message.endswith("\n") else "\n"
        message += f"{line_end}[timed out after {timed_out_after_s:g} s]"
        error = ErrorInfo(code=ErrorCode.SANDBOX_TIMEOUT, message=f"timed out after {timed_out_after_s:g} s")
    elif status not in _SUCCESS:
        error = ErrorInfo(code=ErrorCode.TOOL_ERROR, message=f"the service answered with status {status}")
    data = {
        "http_status": status,
        "timed_out": timed_out_after_s is not None,
        "truncated": text.dropped > 0,
        "dropped_characters": text.dropped,
    }
    return ToolReturn(
        outcome=Outcome.OK if error is None else Outcome.ERROR,
        message=message or f"[status {status}]",
        data=json.dumps(data).encode("ascii"),
        error=error,
    )
