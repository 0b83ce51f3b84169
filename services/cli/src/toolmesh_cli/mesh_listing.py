"""What a mesh serves now: read once from the catalog and the heartbeats."""

from collections import defaultdict
from dataclasses import dataclass

from toolmesh_broker.heartbeats import read_heartbeats
from toolmesh_client.client import Client
from toolmesh_contracts.envelopes.catalog import CatalogEntry, Heartbeat, ToolProblem

__all__ = ["ListedTool", "MeshListing", "describe_problem", "read_listing"]


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool of one pool.

    Attributes:
        newest: The entry of the newest version.
        workers: Who serves it, in any version.
        versions: How many versions are served at once.
    """

    newest: CatalogEntry
    workers: tuple[str, ...]
    versions: int


@dataclass(frozen=True, slots=True)
class MeshListing:
    """Everything that workers told."""

    entries: tuple[CatalogEntry, ...]
    heartbeats: tuple[Heartbeat, ...]

    @property
    def workers(self) -> tuple[Heartbeat, ...]:
        """The live workers."""
        return tuple(one for one in self.heartbeats if one.kind == "worker")

    @property
    def executors(self) -> tuple[Heartbeat, ...]:
        """The live executors."""
        return tuple(one for one in self.heartbeats if one.kind == "executor")

    def tools(self) -> list[ListedTool]:
        """Return each pool's tools by name."""
        groups: defaultdict[tuple[str, str], list[CatalogEntry]] = defaultdict(list)
        for entry in self.entries:
            groups[entry.pool, entry.tool].append(entry)
        return [_listed(groups[key]) for key in sorted(groups)]

    def tools_of(self, worker: str) -> int:
        """Return how many tools a worker has published."""
        return sum(entry.worker == worker for entry in self.entries)

    def problems(self) -> dict[ToolProblem, tuple[str, ...]]:
        """Return what could not be loaded, each with the workers that say so.

        The catalog is newer than a heartbeat: a tool that is in it is no longer missed.
        """
        served = {entry.tool for entry in self.entries}
        told: defaultdict[ToolProblem, list[str]] = defaultdict(list)
        for heartbeat in self.heartbeats:
            for problem in heartbeat.problems:
                if problem.unserved not in served:
                    told[problem].append(heartbeat.instance)
        return {problem: tuple(sorted(workers)) for problem, workers in told.items()}


def describe_problem(problem: ToolProblem, workers: tuple[str, ...]) -> str:
    """Return one line for a person about what could not be loaded."""
    # A message that begins with the file and its line needs no second mention.
    source = "" if problem.message.startswith(problem.source) else problem.source
    place = ": ".join(part for part in (source, problem.tool) if part)
    told = f"{place}: {problem.message}" if place else problem.message
    return f"{told} [{problem.code}] on {', '.join(workers)}"


async def read_listing(client: Client) -> MeshListing:
    """Read what the mesh serves now. Entries of a newer version that can't be read are left out.

    Raises:
        BrokerError: the broker does not answer.
    """
    return MeshListing(client.catalog.entries(), tuple(await read_heartbeats(client.broker)))


def _listed(entries: list[CatalogEntry]) -> ListedTool:
    return ListedTool(
        newest=max(entries, key=lambda entry: (entry.discovered_ms, entry.version)),
        workers=tuple(sorted(entry.worker for entry in entries)),
        versions=len({entry.version for entry in entries}),
    )
