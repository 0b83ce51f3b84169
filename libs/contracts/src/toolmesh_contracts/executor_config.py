"""The agent executor's configuration file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from toolmesh_contracts.broker_config import BrokerConfig
from toolmesh_contracts.config_fields import ConfigModel, Count, Namespace, PoolName, Port, Text
from toolmesh_contracts.errors import InvalidNameError
from toolmesh_contracts.model_config import ModelsConfig
from toolmesh_contracts.model_loading import Loaded, load_model
from toolmesh_contracts.names import validate_identifier


def _executor_id(name: str) -> str:
    try:
        return validate_identifier("executor id", name)
    except InvalidNameError as error:
        raise ValueError(f"this name is not allowed; {error.hint}") from error


ExecutorId = Annotated[str, AfterValidator(_executor_id)]
"""An executor's id."""


class ExecutorKeys(ConfigModel):
    """Files with the keys that an executor signs, verifies and seals with."""

    signing: Text
    """The executor's private key, which signs calls; mode 0600."""
    issuer: Text
    """Public keys (JWKS) of who signs the callers' tokens."""
    issuer_name: Text = "toolmesh-development"
    """What a token's `iss` must be."""
    executors: Text | None = None
    """Public keys (JWKS) of the executors whose calls may ask models here; None: this one's alone."""
    sealing: dict[PoolName, Text] = Field(default_factory=dict)
    """Public key of each pool to which secret settings may be sent."""


class ExecutorHealth(ConfigModel):
    """Where liveness, readiness and metrics are served."""

    host: Text = "127.0.0.1"
    """Address to listen on; loopback unless you say otherwise."""
    port: Port = 8090
    """TCP port; 0 takes a free one."""


class ExecutorTasks(ConfigModel):
    """How an executor runs tasks."""

    parallel: Count = 200
    """Tasks at a time; further ones wait in the queue for this or another executor."""


class ExecutorConfig(ConfigModel):
    """What one executor is, where it connects and which agents it runs."""

    namespace: Namespace
    """Everything on the broker that belongs together; letters, digits, `_` and `-`."""
    executor_id: ExecutorId
    """Name of this executor, unique in its namespace: results come to it."""
    broker: BrokerConfig = BrokerConfig()
    """The NATS connection."""
    agents: tuple[Text, ...] = ()
    """Agent files, or folders of them (`*.yaml`, `*.yml`); relative paths start at this file's folder."""
    keys: ExecutorKeys
    """Key files; relative paths start at this file's folder."""
    models: ModelsConfig = ModelsConfig()
    """Language models. Tools of the pools under `keys.sealing` may ask them."""
    tasks: ExecutorTasks = ExecutorTasks()
    """Tasks of the agents."""
    health: ExecutorHealth = ExecutorHealth()
    """Liveness, readiness and metrics."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severity that is logged."""


def load_executor_config(path: Path, environment: Mapping[str, str]) -> Loaded[ExecutorConfig]:
    """Load an executor's configuration, `${VARIABLES}` filled in from `environment`. Raises ConfigError."""
    return load_model(path, ExecutorConfig, environment)
