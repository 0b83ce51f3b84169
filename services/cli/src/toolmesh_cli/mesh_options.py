"""What `toolmesh up` was asked for, checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolmesh_broker.embedded.config_file import Durability
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.names import validate_namespace, validate_pool

__all__ = ["ExternalBroker", "MeshOptions"]

_REPLICAS: Final = (1, 3, 5)
"""An even number survives no more losses than the odd one below it."""
_SANDBOXES: Final = ("bwrap", "prlimit-only")


@dataclass(frozen=True, slots=True)
class ExternalBroker:
    """NATS servers that are not ours, and the file that lets us in (at most one of the two)."""

    url: str
    """Of several servers of a cluster with commas between them."""
    credentials_file: Path | None = None
    nkey_seed_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshOptions:
    """Which mesh to start.

    Attributes:
        tools: Toolset folders, manifests, or folders of toolset folders.
        agents: Agent files, or folders of them.
        authorization: The file that says what users may do.
        workers: How many worker processes.
        data_folder: Keys, state and logs; made private.
        namespace: Keeps meshes on one broker apart.
        pool: The workers' pool.
        broker: None starts a broker of our own.
        sandbox: `bwrap`, `prlimit-only` or `direct`.
        durability: What the broker's acknowledged writes survive; of a broker of our own.
        replicas: On how many servers of a cluster new streams and buckets are kept.
        executor_variables: Environment variables that the executor has besides ours.
    """

    tools: tuple[Path, ...]
    data_folder: Path
    agents: tuple[Path, ...] = ()
    authorization: Path | None = None
    workers: int = 1
    namespace: str = "default"
    pool: str = "default"
    broker: ExternalBroker | None = None
    sandbox: str = "bwrap"
    durability: Durability = Durability.FAST
    replicas: int = 1
    executor_variables: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of_command_line(
        cls,
        *,
        tools: Sequence[Path],
        agents: Sequence[Path],
        workers: int,
        data_folder: Path,
        namespace: str,
        pool: str,
        broker_url: str | None,
        broker_creds: Path | None,
        broker_nkey: Path | None,
        sandbox: str,
        allow_unsandboxed: bool,
        authorization: Path | None = None,
        durability: str | None = None,
        replicas: int | None = None,
    ) -> "MeshOptions":
        """Check the options of the command line.

        Raises:
            ToolmeshError: one is missing or not allowed, or two contradict each other.
        """
        if not tools:
            raise _usage("no tools are given", hint="add --tools FOLDER, such as --tools examples/weather")
        if sandbox not in _SANDBOXES:
            raise _usage(f"--sandbox {sandbox!r} is not allowed", hint=f"use {' or '.join(_SANDBOXES)}")
        for place in agents:
            if not place.exists():
                raise _usage(f"agent file {place} is not there", hint="give an agent file or a folder of them")
        return cls(
            tools=tuple(tools),
            agents=tuple(agents),
            authorization=authorization,
            workers=workers,
            data_folder=data_folder.absolute(),
            namespace=validate_namespace(namespace),
            pool=validate_pool(pool),
            broker=_external(broker_url, broker_creds, broker_nkey),
            sandbox="direct" if allow_unsandboxed else sandbox,
            durability=_durability(durability, broker_url),
            replicas=_replicas(replicas, broker_url),
        )


def _external(url: str | None, credentials: Path | None, nkey: Path | None) -> ExternalBroker | None:
    if url is None:
        if credentials is not None or nkey is not None:
            raise _usage("broker credentials are given without --broker", hint="add --broker URL")
        return None
    if credentials is not None and nkey is not None:
        raise _usage("--broker-creds and --broker-nkey exclude each other", hint="give one of them")
    if "@" in url:
        raise _usage(
            "--broker holds a user or password, which every user of this machine could read",
            hint="use --broker-creds or --broker-nkey",
        )
    return ExternalBroker(url, *(None if file is None else file.absolute() for file in (credentials, nkey)))


def _durability(given: str | None, broker_url: str | None) -> Durability:
    if given is None:
        return Durability.FAST
    if broker_url is not None:
        raise _usage(
            "--durability is for a broker of our own", hint="set `sync_interval` in your server's configuration"
        )
    try:
        return Durability(given)
    except ValueError:
        raise _usage(f"--durability {given!r} is not allowed", hint=f"use {' or '.join(Durability)}") from None


def _replicas(given: int | None, broker_url: str | None) -> int:
    if given is None:
        return 1
    if broker_url is None:
        raise _usage("--replicas is for a cluster; a broker of our own is one server", hint="add --broker URL,URL,URL")
    if given not in _REPLICAS:
        raise _usage(
            f"--replicas {given} is not allowed", hint=f"use {', '.join(map(str, _REPLICAS[:-1]))} or {_REPLICAS[-1]}"
        )
    return given


def _usage(message: str, hint: str) -> ToolmeshError:
    return ToolmeshError(message, code=ErrorCode.INVALID_CONFIGURATION, hint=hint)
