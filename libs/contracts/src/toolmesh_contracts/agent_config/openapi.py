"""The entry of a toolset that is made from an OpenAPI description."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from toolmesh_contracts.agent_config.entries import EntryBase, Headers
from toolmesh_contracts.agent_config.mcp import BasicAuth, BearerAuth, HttpUrl, NoAuth, OAuthCredential
from toolmesh_contracts.config_fields import ConfigModel, Text

__all__ = [
    "DEFAULT_RESPONSE_BYTES",
    "MAX_RESPONSE_BYTES",
    "ApiKeyAuth",
    "OpenApiAuth",
    "OpenApiBasic",
    "OpenApiBearer",
    "OpenApiEntry",
    "OpenApiOAuth2",
    "OpenApiOAuthScheme",
    "ResponseBytes",
    "ServiceAccountAuth",
]

DEFAULT_RESPONSE_BYTES: Final = 10 * 1024 * 1024
"""Largest response body when the entry doesn't say."""

MAX_RESPONSE_BYTES: Final = 50 * 1024 * 1024
"""Largest limit that an entry may set, since bodies are held in memory."""


def _response_bytes(value: Any) -> int:
    if value is None or value == "":
        return DEFAULT_RESPONSE_BYTES
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value
    if type(number) is not int or not 1 <= number <= MAX_RESPONSE_BYTES:
        raise ValueError(f"a whole number of bytes from 1 to {MAX_RESPONSE_BYTES} (50 MiB) is needed, without a unit")
    return number


ResponseBytes = Annotated[
    int,
    PlainValidator(_response_bytes),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MAX_RESPONSE_BYTES},
                {"type": "null"},
                {"const": ""},
            ]
        }
    ),
]
"""A response limit in bytes."""

_FLAT_KEYS: Final = {
    "credential": ("token", "username", "password", "client_id", "client_secret"),
    "scheme": (
        "authorization_url",
        "token_url",
        "refresh_url",
        "scopes",
        "token_endpoint_auth_method",
        "audience",
    ),
}


def _nested(value: dict[str, Any]) -> dict[str, Any]:
    """Move keys written directly under `auth` to the blocks where the other form has them."""
    moved = dict(value)
    for block, keys in _FLAT_KEYS.items():
        flat = {key: moved.pop(key) for key in keys if key in moved}
        if flat:
            inner = moved.get(block, {})
            if not isinstance(inner, dict) or not flat.keys().isdisjoint(inner):
                raise ValueError(f"give {', '.join(flat)} under `{block}` or beside it, not both")
            moved[block] = {**inner, **flat}
    return moved


class OpenApiBearer(BearerAuth):
    """`Authorization: Bearer <token>`; the token is `credential.token` or `token`."""

    _flat = model_validator(mode="before")(_nested)


class OpenApiBasic(BasicAuth):
    """HTTP Basic; user and password stand under `credential` or directly."""

    _flat = model_validator(mode="before")(_nested)


class ApiKeyAuth(ConfigModel):
    """A key in a header, query parameter or cookie."""

    type: Literal["apikey"]
    name: Text
    """Name of the header, parameter or cookie."""
    value: Text
    """The key."""
    location: Literal["header", "query", "cookie"] = Field(default="header", alias="in")
    """Where the key is sent."""


class OpenApiOAuthScheme(ConfigModel):
    """The authorisation server's endpoints."""

    authorization_url: HttpUrl | None = None
    """Where users sign in; None: client credentials, one token for the agent."""
    token_url: HttpUrl
    refresh_url: HttpUrl | None = None
    """Where tokens are refreshed; None: `token_url`."""
    scopes: tuple[Text, ...] = ()
    token_endpoint_auth_method: Literal["client_secret_post", "client_secret_basic", "none"] | None = None
    """How the client proves itself; None: by what it has."""
    audience: Text | None = None


class OpenApiOAuth2(ConfigModel):
    """OAuth 2: per user with an `authorization_url`, else one token for the agent."""

    type: Literal["oauth2"]
    credential: OAuthCredential
    scheme: OpenApiOAuthScheme
    credential_key: Text | None = None
    """Name under which users' tokens are kept."""

    _flat = model_validator(mode="before")(_nested)

    @model_validator(mode="after")
    def _client_credentials_need_a_secret(self) -> Self:
        if self.scheme.authorization_url is None and self.credential.client_secret is None:
            raise ValueError("without authorization_url the flow is client credentials, which needs client_secret")
        return self


class ServiceAccountAuth(ConfigModel):
    """A Google service account, whose key signs a request for a token."""

    type: Literal["serviceaccount"]
    service_account_json: Text
    """The key as raw JSON."""
    scopes: tuple[Text, ...] = ()


OpenApiAuth = Annotated[
    NoAuth | OpenApiBearer | OpenApiBasic | ApiKeyAuth | OpenApiOAuth2 | ServiceAccountAuth,
    Field(discriminator="type"),
]
"""How requests to an API are authorised."""


class OpenApiEntry(EntryBase):
    """The operations of one API."""

    tool_type: Literal["openapi"]
    specification_url: HttpUrl | None = None
    """Where the description is fetched at the start."""
    specification_file: Text | None = None
    """The description in a file."""
    specification: str | dict[str, Any] | None = None
    """The description itself."""
    specification_format: Literal["json", "yaml"] | None = None
    """Format of `specification`, where it can't be seen."""
    base_url: HttpUrl | None = None
    """Used instead of the description's server."""
    auth: OpenApiAuth | None = None
    """How requests are authorised; None: not at all."""
    allow_list: tuple[Text, ...] | None = None
    """Only these operations, by `operationId`."""
    deny_list: tuple[Text, ...] | None = None
    """All operations but these."""
    headers: Headers = Field(default_factory=dict)
    """Headers of every request."""
    max_response_size: ResponseBytes = DEFAULT_RESPONSE_BYTES
    """Largest response body, in bytes."""
    use_pkce: bool = False
    """Use PKCE when users sign in."""

    @model_validator(mode="after")
    def _exclusive_keys(self) -> Self:
        sources = ("specification_url", "specification_file", "specification")
        given = [key for key in sources if getattr(self, key) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"exactly one of {', '.join(sources)} is needed; found {found}")
        if self.allow_list is not None and self.deny_list is not None:
            raise ValueError("allow_list and deny_list exclude each other; keep one")
        return self
