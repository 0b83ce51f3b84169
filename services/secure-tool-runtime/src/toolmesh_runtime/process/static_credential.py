"""The operator's own credential for a tool, from the reserved key `auth` of its configuration."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["StaticCredential", "static_credential"]


@dataclass(frozen=True, slots=True)
class StaticCredential:
    """A credential that needs no person to sign in.

    Attributes:
        token: The bearer token; empty if it is none.
        headers: The HTTP headers to send.
    """

    token: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What nobody but the tool may see."""
        return tuple(value.rpartition(" ")[2] for value in self.headers.values())


def static_credential(tool_config: Mapping[str, Any]) -> StaticCredential:
    """Return the credential of `auth: {type: bearer, token}` or `auth: {type: basic, username, password}`.

    The fields may also stand in `auth.credential`. Whatever else `auth` holds, such as the settings of a sign-in, is no
    static credential.
    """
    auth = tool_config.get("auth")
    if not isinstance(auth, dict):
        return StaticCredential()
    inner = auth.get("credential")
    given = {**auth, **inner} if isinstance(inner, dict) else auth
    token, user, password = (given.get(key) for key in ("token", "username", "password"))
    if auth.get("type") == "bearer" and isinstance(token, str) and _one_line(token):
        return StaticCredential(token, {"Authorization": f"Bearer {token}"})
    if auth.get("type") == "basic" and isinstance(user, str) and isinstance(password, str):
        pair = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
        return StaticCredential("", {"Authorization": f"Basic {pair}"})
    return StaticCredential()


def _one_line(token: str) -> bool:
    return bool(token) and token.isprintable()
