"""The worker's configuration file."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema, model_validator

from toolmesh_contracts.agent_config.entries import Headers
from toolmesh_contracts.broker_config import BrokerConfig
from toolmesh_contracts.config_fields import (
    AbsolutePath,
    ConfigModel,
    Count,
    Namespace,
    NoBoolean,
    PoolName,
    Port,
    Seconds,
    Text,
    WorkerId,
)
from toolmesh_contracts.manifest import SandboxProfile
from toolmesh_contracts.model_loading import Loaded, load_model

__all__ = [
    "Bytes",
    "Concurrency",
    "HealthConfig",
    "KeysConfig",
    "SandboxConfig",
    "ServiceEndpoint",
    "WorkerConfig",
    "WorkerLimits",
    "load_worker_config",
]

_MIB = 1024 * 1024
_MAX_CONCURRENCY = 4096

Bytes = Annotated[int, Field(ge=1, le=2**40), NoBoolean]
"""A size in bytes, at most a TiB."""


def _concurrency(value: Any) -> Any:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if value == "auto" or (type(number) is int and 1 <= number <= _MAX_CONCURRENCY):
        return number
    raise ValueError(f"`auto` or a whole number from 1 to {_MAX_CONCURRENCY} is needed")


Concurrency = Annotated[
    Literal["auto"] | int,
    PlainValidator(_concurrency),
    WithJsonSchema({"anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 1, "maximum": _MAX_CONCURRENCY}]}),
]
"""How many calls run at once."""


class SandboxConfig(ConfigModel):
    """How tools are isolated."""

    mode: Literal["bwrap", "prlimit-only", "direct"] = "bwrap"
    """`bwrap`: namespaces and limits. `prlimit-only`: limits, no isolation. `direct`: neither, for development only."""
    allow_direct: bool = False
    """Must be true for `mode: direct`, so that nobody turns isolation off by one word."""
    work_folder: AbsolutePath | None = None
    """Where calls have their folders, outside every home; None: `/var/tmp/toolmesh-<uid>`."""
    bwrap: AbsolutePath | None = None
    """The bubblewrap program; None: `/usr/bin/bwrap`, then the packaged one."""
    uid_base: Annotated[int, Field(ge=1000, le=2**31), NoBoolean] = 61_184
    """First of the user ids that a root worker gives to calls, one for each."""
    uid_count: Annotated[int, Field(ge=1, le=2**20), NoBoolean] = 4096
    """How many user ids, all workers of this machine together: also the most calls at a time."""
    floor: Literal["FULL", "USER_NAMESPACES_LEFT", "NO_PROC"] = "USER_NAMESPACES_LEFT"
    """The least that mode `bwrap` may give; a machine that gives less is refused. `FULL`: everything.
    `USER_NAMESPACES_LEFT`: that a tool makes no user namespace rests on the filter alone. `NO_PROC`: /proc is empty."""
    default_profile: SandboxProfile = "standard"
    """Profile of tools whose manifest names none."""
    python: AbsolutePath = "/usr/bin/python3"
    """Interpreter of Python tools whose manifest names none."""

    @model_validator(mode="after")
    def _direct_is_asked_for_twice(self) -> Self:
        if self.mode == "direct" and not self.allow_direct:
            raise ValueError("mode `direct` runs tools without isolation; it needs `allow_direct: true` beside it")
        return self


class KeysConfig(ConfigModel):
    """Files with the keys that a worker verifies and opens with."""

    issuer: Text
    """Public keys (JWKS) of who signs the callers' tokens."""
    issuer_name: Text = "toolmesh-development"
    """Who must have signed them: the `iss` of accepted tokens; the default is that of `toolmesh up`."""
    executors: Text
    """Public keys (JWKS) of the executors, which sign calls."""
    sealing: Text
    """The pool's private key, which opens sealed configuration; mode 0600."""


def _endpoint_url(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?", text):
        raise ValueError(
            "a URL that starts with https:// or http:// is needed, without user, password, query or fragment"
        )
    return text


class ServiceEndpoint(ConfigModel):
    """An endpoint that tools with a `service` may have called."""

    url: Annotated[str, AfterValidator(_endpoint_url)]
    """Every URL of this origin at or below this path."""
    headers: Headers = Field(default_factory=dict)
    """Sent along, such as `Authorization`: credentials stand here and in no tool's file."""
    signing_secret: Text | None = None
    """Key of the signature (HMAC-SHA256) by which the service knows the worker; None: no signature."""
    private: bool = False
    """It may be at an address that is not public, such as loopback."""


class WorkerLimits(ConfigModel):
    """Sizes above which something is refused."""

    arguments_bytes: Bytes = 64 * _MIB
    """Arguments of one call, in bytes."""
    result_bytes: Bytes = 64 * _MIB
    """Result of one call, in bytes."""
    artifact_bytes: Bytes = 1024 * _MIB
    """One file that a tool takes or leaves, in bytes."""
    artifacts_total_bytes: Bytes = 4096 * _MIB
    """All files that one call leaves, in bytes."""
    artifacts: Count = 1000
    """Files that one call leaves."""
    output_bytes: Bytes = 10 * _MIB
    """Kept of a tool's stdout and of its stderr, in bytes each."""


class HealthConfig(ConfigModel):
    """Where liveness, readiness and metrics are served."""

    host: Text = "127.0.0.1"
    """Address to listen on; loopback unless you say otherwise."""
    port: Port = 8092
    """TCP port; 0 takes a free one."""


class WorkerConfig(ConfigModel):
    """What one worker is, where it connects and what it serves."""

    namespace: Namespace
    """Everything on the broker that belongs together; letters, digits, `_` and `-`."""
    pool: PoolName = "default"
    """The pool that this worker serves: workers of one pool serve the same toolsets at the same trust."""
    worker_id: WorkerId | None = None
    """Name of this worker, unique in its pool; None: made from the host's name and the process."""
    broker: BrokerConfig = BrokerConfig()
    """The NATS connection."""
    toolsets: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Folders with a `manifest.yaml`, or manifests; relative paths start at this file's folder."""
    sandbox: SandboxConfig = SandboxConfig()
    """How tools are isolated."""
    services: tuple[ServiceEndpoint, ...] = ()
    """What tools with a `service` may have called; nothing else."""
    keys: KeysConfig
    """Key files; relative paths start at this file's folder."""
    default_timeout_seconds: Seconds = 300
    """Wall clock of calls whose tool names none, in seconds."""
    concurrency: Concurrency = "auto"
    """Calls at once; `auto`: from the CPUs and memory that the worker may use."""
    max_running_per_tenant: Count | None = None
    """Most of them that one agent may have at once on behalf of one user; None: all."""
    discovery_seconds: Seconds = 30
    """How long a tool may take to describe itself, in seconds."""
    reconcile_seconds: Seconds = 300
    """How often the folders are read again and the catalog is published anew, in seconds."""
    lease_seconds: Annotated[float, Field(ge=6, le=60), NoBoolean] = 6
    """How long a worker that can't reach the broker keeps its calls, in seconds; a dead one's calls are decided then.
    On a cluster 15: longer than its servers may take to replace one that was lost."""
    drain_seconds: Seconds = 30
    """How long running calls may go on after a stop was asked for, in seconds."""
    limits: WorkerLimits = WorkerLimits()
    """Sizes above which something is refused."""
    health: HealthConfig = HealthConfig()
    """Liveness, readiness and metrics."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severity that is logged."""


def load_worker_config(path: Path, environment: Mapping[str, str]) -> Loaded[WorkerConfig]:
    """Load a worker's configuration, `${VARIABLES}` filled in from `environment`. Raises ConfigError."""
    return load_model(path, WorkerConfig, environment)
