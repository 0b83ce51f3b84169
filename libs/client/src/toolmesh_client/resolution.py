"""Which pool and catalog entry a call means."""

import difflib
from collections.abc import Mapping

from toolmesh_client.errors import AmbiguousToolError, ToolNotFoundError
from toolmesh_contracts.envelopes.catalog import CatalogEntry

__all__ = ["ToolsByPool", "resolve_tool"]

ToolsByPool = Mapping[str, Mapping[str, CatalogEntry]]
"""The catalog: by pool, then by the tool's name."""


def resolve_tool(catalog: ToolsByPool, tool: str, pool: str | None) -> CatalogEntry:
    """Return the entry of `tool`, in `pool` if one is given.

    Raises:
        ToolNotFoundError: no worker serves it; the hint has the nearest spelling.
        AmbiguousToolError: more than one pool serves it and none is given.
    """
    if pool is not None and pool not in catalog:
        raise ToolNotFoundError(f"no worker serves pool {pool!r}", hint=_pools_hint(pool, catalog))
    served = {name: tools for name, tools in catalog.items() if pool in (None, name)}
    found = {name: tools[tool] for name, tools in served.items() if tool in tools}
    if not found:
        where = f"in pool {pool!r}" if pool is not None else "by any worker"
        raise ToolNotFoundError(f"tool {tool!r} is not served {where}", hint=_tools_hint(tool, served, catalog))
    if len(found) > 1:
        pools = ", ".join(sorted(found))
        raise AmbiguousToolError(f"tool {tool!r} is served in several pools: {pools}", hint="say which pool is meant")
    return next(iter(found.values()))


def _tools_hint(tool: str, served: ToolsByPool, catalog: ToolsByPool) -> str:
    elsewhere = sorted(pool for pool, tools in catalog.items() if tool in tools)
    if elsewhere:
        return f"pool {', '.join(elsewhere)} serves it"
    names = sorted({name for tools in served.values() for name in tools})
    if not names:
        return "no worker serves any tool; start one, for example with `toolmesh up --tools FOLDER`"
    near = difflib.get_close_matches(tool[:128], names, n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else "`toolmesh tools list` shows what is served"


def _pools_hint(pool: str, catalog: ToolsByPool) -> str:
    near = difflib.get_close_matches(pool, catalog, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"pools with workers: {', '.join(sorted(catalog))}" if catalog else "no worker is there; start one"
