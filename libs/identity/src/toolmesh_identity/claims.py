"""What a token says: who calls, what they may do, for which task, until when."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from toolmesh_identity.errors import TokenInvalidError

DEFAULT_TTL_S: Final = 3600
MAX_TTL_S: Final = 86_400
MAX_SCOPES: Final = 512
_MAX_TEXT: Final = 512
_MAX_PROFILE: Final = 32
# What broken sign-in code writes when it knows nobody: never an identity.
_PLACEHOLDERS: Final = frozenset({"", "-", "anonymous", "n/a", "nan", "nil", "none", "null", "undefined", "unknown"})


@dataclass(frozen=True, kw_only=True)
class Claims:
    """The claims of one token.

    Attributes:
        subject: Who calls (`sub`).
        scopes: What they may do, in the order given (`scopes`).
        audience: The namespace the token is for (`aud`).
        issuer: Who says so (`iss`).
        issued_at: Unix seconds (`iat`).
        not_before: Unix seconds (`nbf`).
        expires_at: Unix seconds (`exp`).
        token_id: Unique per token (`jti`).
        task: The root task, or "" (`task_id`).
        agent: The agent that the task was given to, or "" (`agent`).
        session: The session, or "" (`session`).
        profile: What is known of the person, such as `id` and `work_email` (`profile`).
    """

    subject: str
    scopes: tuple[str, ...]
    audience: str
    issuer: str
    issued_at: int
    not_before: int
    expires_at: int
    token_id: str = field(repr=False)
    task: str = ""
    agent: str = ""
    session: str = ""
    profile: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        _check_subject(self.subject)
        for name in ("audience", "issuer", "token_id"):
            _check_text(name, getattr(self, name))
        for name in ("task", "agent", "session"):
            _check_text(name, getattr(self, name), empty=True)
        _check_scopes(self.scopes)
        _check_profile(self.profile)
        for name in ("issued_at", "not_before", "expires_at"):
            _check_time(name, getattr(self, name))
        if not self.issued_at < self.expires_at <= self.issued_at + MAX_TTL_S:
            raise _malformed("exp", f"must be 1 to {MAX_TTL_S} seconds after iat")
        if self.not_before >= self.expires_at:
            raise _malformed("nbf", "must be before exp")

    @classmethod
    def new(
        cls,
        subject: str,
        scopes: tuple[str, ...],
        *,
        audience: str,
        issuer: str,
        now: float,
        ttl_s: int = DEFAULT_TTL_S,
        task: str = "",
        agent: str = "",
        session: str = "",
        profile: Mapping[str, str] | None = None,
    ) -> Self:
        """Make claims that are valid from `now` (Unix seconds) for `ttl_s` seconds, with a new token id.

        Raises:
            TokenInvalidError: When a value can't be in a token, such as a lifetime over 24 hours.
        """
        start = int(now)
        return cls(
            subject=subject,
            scopes=scopes,
            audience=audience,
            issuer=issuer,
            issued_at=start,
            not_before=start,
            expires_at=start + ttl_s,
            token_id=secrets.token_urlsafe(16),
            task=task,
            agent=agent,
            session=session,
            profile=dict(profile or {}),
        )

    def to_payload(self) -> dict[str, Any]:
        """Return the claims under their names in a token."""
        return {
            "iss": self.issuer,
            "sub": self.subject,
            "aud": self.audience,
            "scopes": list(self.scopes),
            "task_id": self.task,
            "agent": self.agent,
            "session": self.session,
            "profile": dict(self.profile),
            "iat": self.issued_at,
            "nbf": self.not_before,
            "exp": self.expires_at,
            "jti": self.token_id,
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Self:
        """Read the claims of a token; claims of other names are ignored.

        Raises:
            TokenInvalidError: When a claim is missing or of the wrong kind; the message names it.
        """
        scopes = payload.get("scopes")
        if not isinstance(scopes, list):
            raise _malformed("scopes", "must be a list")
        return cls(
            subject=payload.get("sub", ""),
            scopes=tuple(scopes),
            audience=payload.get("aud", ""),
            issuer=payload.get("iss", ""),
            issued_at=payload.get("iat", -1),
            not_before=payload.get("nbf", -1),
            expires_at=payload.get("exp", -1),
            token_id=payload.get("jti", ""),
            task=payload.get("task_id", ""),
            agent=payload.get("agent", ""),
            session=payload.get("session", ""),
            profile=payload.get("profile", {}),
        )


def _malformed(claim: str, problem: str) -> TokenInvalidError:
    return TokenInvalidError(f"token claim {claim} {problem}", reason="malformed")


def _check_subject(subject: object) -> None:
    if isinstance(subject, str) and subject.strip().lower() in _PLACEHOLDERS:
        raise TokenInvalidError(
            "token claim sub names nobody; the issuer must put a real user or service there", reason="no_subject"
        )
    _check_text("sub", subject)


def _check_text(name: str, value: object, *, empty: bool = False) -> None:
    if not isinstance(value, str) or len(value) > _MAX_TEXT or not (value or empty):
        raise _malformed(name, f"must be a text of {int(not empty)} to {_MAX_TEXT} characters")
    # Control and lone surrogate characters have no place in a name, and would forge log lines or fail to encode.
    if not value.isprintable():
        raise _malformed(name, "must be printable text")


def _check_scopes(scopes: object) -> None:
    if not isinstance(scopes, tuple) or len(scopes) > MAX_SCOPES:
        raise _malformed("scopes", f"must be a list of at most {MAX_SCOPES}")
    for scope in scopes:
        _check_text("scopes", scope)


def _check_profile(profile: object) -> None:
    if not isinstance(profile, Mapping) or len(profile) > _MAX_PROFILE:
        raise _malformed("profile", f"must be an object of at most {_MAX_PROFILE} texts")
    for name, value in profile.items():
        _check_text("profile", name)
        _check_text("profile", value, empty=True)


def _check_time(name: str, value: object) -> None:
    # A year 10000 bound keeps every later computation in range.
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 253_402_300_800:
        raise _malformed(name, "must be a time in whole Unix seconds")
