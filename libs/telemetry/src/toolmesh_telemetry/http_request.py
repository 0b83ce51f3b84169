"""Just enough of HTTP/1.1 (RFC 9112) to answer a GET: read one bounded request head, write one response."""

import asyncio
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

MAX_HEAD_BYTES: Final = 8 * 1024
METHODS: Final = ("GET", "HEAD")


class HttpError(Exception):
    """Raised when a request gets no answer but its status."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


@dataclass(frozen=True)
class Request:
    """The part of a request that matters here.

    Attributes:
        method: GET or HEAD.
        path: Without the query.
    """

    method: str
    path: str


@dataclass(frozen=True)
class Response:
    """One whole response, after which the connection is closed."""

    status: HTTPStatus
    content_type: str
    body: bytes

    @classmethod
    def json(cls, status: HTTPStatus, content: Any) -> "Response":
        """Make a response of JSON data."""
        return cls(status, "application/json", json.dumps(content).encode() + b"\n")

    @classmethod
    def bare(cls, status: HTTPStatus) -> "Response":
        """Make a response that says no more than its status."""
        return cls(status, "text/plain; charset=utf-8", f"{status.value} {status.phrase}\n".encode())

    def encode(self, *, with_body: bool) -> bytes:
        """Return the bytes to send; to a HEAD request without the body."""
        head = [
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.body)}",
            "Cache-Control: no-store",
            "X-Content-Type-Options: nosniff",
            "Connection: close",
        ]
        if self.status is HTTPStatus.METHOD_NOT_ALLOWED:
            head.append(f"Allow: {', '.join(METHODS)}")
        return "\r\n".join([*head, "", ""]).encode("ascii") + (self.body if with_body else b"")


async def read_request(reader: asyncio.StreamReader) -> Request:
    """Read a request up to the end of its header; `reader` must have been made with the limit MAX_HEAD_BYTES.

    Raises:
        HttpError: When it is too long, malformed, or of another method or protocol version.
        asyncio.IncompleteReadError: When the connection ends first.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise HttpError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from error
    line = head.partition(b"\r\n")[0].decode("latin-1")
    method, _, rest = line.partition(" ")
    target, _, version = rest.partition(" ")
    if not target.startswith("/") or not version.startswith("HTTP/"):
        raise HttpError(HTTPStatus.BAD_REQUEST)
    if version not in ("HTTP/1.0", "HTTP/1.1"):
        raise HttpError(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
    if method not in METHODS:
        raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED)
    return Request(method, target.partition("?")[0])
