"""The entry of a toolset that an MCP server serves."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AliasChoices, ConfigDict, Field, model_validator

from toolmesh_contracts.agent_config.entries import EntryBase, Headers
from toolmesh_contracts.config_fields import ConfigModel, Seconds, Text

__all__ = [
    "BasicAuth",
    "BasicCredential",
    "BearerAuth",
    "BearerCredential",
    "HeadersAuth",
    "HttpConnection",
    "HttpUrl",
    "McpAuth",
    "McpEntry",
    "McpOAuth2",
    "McpOAuthScheme",
    "McpToolDeclaration",
    "NoAuth",
    "OAuthCredential",
    "SslConfig",
    "StdioConnection",
]

_HTTP_URL = re.compile(r"https?://[^\s/?#]+(?:[/?#]\S*)?")


def _http_url(text: str) -> str:
    if not _HTTP_URL.fullmatch(text):
        raise ValueError("a URL that starts with https:// or http:// is needed")
    return text


HttpUrl = Annotated[str, AfterValidator(_http_url)]
"""An HTTP address, kept as it is written."""


class SslConfig(ConfigModel):
    """How an HTTPS server is verified, and the client's own certificate."""

    verify: bool = True
    """Verify the server's certificate; false is for development only."""
    ca_bundle: Text | None = None
    """File (PEM) with the certificates to trust; None: the system's."""
    client_cert: Text | None = None
    """File (PEM) with the client's certificate, for mutual TLS."""
    client_key: Text | None = None
    """File (PEM) with the client's private key."""

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if (self.client_cert is None) != (self.client_key is None):
            raise ValueError("client_cert and client_key belong together; give both or neither")
        return self


class StdioConnection(ConfigModel):
    """A server that is started as a process."""

    type: Literal["stdio"]
    command: Text
    """The program."""
    args: tuple[str, ...] = ()
    """Its arguments."""
    env: dict[str, str] = Field(default_factory=dict)
    """Its environment; nothing is inherited from the executor's but PATH and HOME."""
    timeout: Seconds | None = None
    """How long the server may take to start, in seconds."""


class HttpConnection(ConfigModel):
    """A server at an HTTP address."""

    type: Literal["sse", "streamable-http"]
    url: HttpUrl
    """The server's address."""
    headers: Headers = Field(default_factory=dict)
    """Headers of every request."""
    timeout: Seconds | None = None
    """How long the server may take to answer, in seconds."""
    ssl_config: SslConfig | None = None
    """TLS; None: verify with the system's certificates."""


class NoAuth(ConfigModel):
    """No credentials."""

    type: Literal["none"]


class BearerCredential(ConfigModel):
    """A token that is sent as it is."""

    token: Text


class BearerAuth(ConfigModel):
    """`Authorization: Bearer <token>`."""

    type: Literal["bearer"]
    credential: BearerCredential


class BasicCredential(ConfigModel):
    """A user and a password."""

    username: Text
    password: str


class BasicAuth(ConfigModel):
    """HTTP Basic."""

    type: Literal["basic"]
    credential: BasicCredential


class HeadersAuth(ConfigModel):
    """Fixed headers, for instance an API key."""

    type: Literal["headers"]
    headers: Headers = Field(default_factory=dict)
    """The headers; they win over `connection_params.headers`."""


class OAuthCredential(ConfigModel):
    """The client that is registered with the authorisation server."""

    client_id: Text
    client_secret: Text | None = None
    """None: a public client."""


class McpOAuthScheme(ConfigModel):
    """The authorisation server's endpoints."""

    authorization_url: HttpUrl
    token_url: HttpUrl
    refresh_url: HttpUrl | None = None
    """Where tokens are refreshed; None: `token_url`."""
    scopes: tuple[Text, ...] = ()
    token_endpoint_auth_method: Literal["client_secret_post", "client_secret_basic", "none"] | None = None
    """How the client proves itself; None: by what it has."""
    audience: Text | None = None
    disable_pkce: bool = False


class McpOAuth2(ConfigModel):
    """OAuth 2 by authorisation code, tokens per user.

    Without `scheme` the endpoints are discovered (RFC 9728, 8414), without `credential` the client registers itself
    (RFC 7591).
    """

    type: Literal["oauth2"]
    credential: OAuthCredential | None = None
    scheme: McpOAuthScheme | None = None
    display_name: Text | None = None
    """What the person who signs in reads."""
    credential_key: Text | None = None
    """Name under which tokens are kept; the same name shares them."""
    ca_cert_path: Text | None = None
    """File (PEM) with the certificates to trust at the authorisation server."""
    insecure_skip_verify: bool = False
    """Don't verify the authorisation server's certificate; for development only."""

    @model_validator(mode="after")
    def _scheme_needs_a_client(self) -> Self:
        if self.scheme is not None and self.credential is None:
            raise ValueError("`scheme` needs `credential.client_id`; leave both out to discover and register")
        return self


McpAuth = Annotated[NoAuth | BearerAuth | BasicAuth | HeadersAuth | McpOAuth2, Field(discriminator="type")]
"""How requests to an MCP server are authorised."""


class McpToolDeclaration(ConfigModel):
    """A tool that is known before the server lists it."""

    model_config = ConfigDict(extra="allow")

    name: Text
    description: str = ""
    input_schema: dict[str, Any] = Field(
        default_factory=dict, validation_alias=AliasChoices("inputSchema", "input_schema")
    )
    """JSON Schema of the arguments."""


class McpEntry(EntryBase):
    """Tools of one MCP server."""

    tool_type: Literal["mcp"]
    connection_params: Annotated[StdioConnection | HttpConnection, Field(discriminator="type")]
    """How the server is reached; `type` is stdio, sse or streamable-http."""
    auth: McpAuth | None = None
    """How requests are authorised; None: not at all."""
    allow_list: tuple[Text, ...] | None = None
    """Only these tools, by the server's own names."""
    deny_list: tuple[Text, ...] | None = None
    """All tools but these."""
    tool_name: Text | None = None
    """Exactly this tool."""
    tool_name_prefix: Text | None = None
    """Put before every tool's name."""
    environment_variables: dict[str, str] = Field(default_factory=dict)
    """More variables for a `stdio` server's environment."""
    credential_key: Text | None = None
    """Name under which users' tokens are kept; set it where two servers must not share."""
    manifest: tuple[McpToolDeclaration, ...] | None = None
    """The server's tools, for servers that don't list them to strangers."""
    manifest_file: Text | None = None
    """The same in a file (JSON or YAML)."""

    @model_validator(mode="after")
    def _exclusive_keys(self) -> Self:
        for keys in (("allow_list", "deny_list", "tool_name"), ("manifest", "manifest_file")):
            given = [key for key in keys if getattr(self, key) is not None]
            if len(given) > 1:
                raise ValueError(f"{' and '.join(given)} exclude each other; keep one")
        return self

    @model_validator(mode="after")
    def _keys_fit_the_transport(self) -> Self:
        if isinstance(self.connection_params, StdioConnection):
            if self.auth is not None and not isinstance(self.auth, NoAuth):
                raise ValueError("`auth` is for servers with a URL; give a stdio server its secrets in `env`")
            return self
        if self.environment_variables:
            raise ValueError("`environment_variables` are for stdio servers; use `headers` for a server with a URL")
        if isinstance(self.auth, HeadersAuth) and not (self.auth.headers or self.connection_params.headers):
            raise ValueError("auth type `headers` needs `auth.headers` or `connection_params.headers`")
        return self
