"""Names that a shell completes: the tools of the running mesh. Silent and quick, or nothing."""

import contextlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import typer

__all__ = ["one_of", "tool_names"]

_PATIENCE_S: Final = 1.0


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Return what completes one of the words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def tool_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of served tools that begin with `incomplete`."""
    import asyncio

    from toolmesh_cli.library_logs import drop_library_logs

    drop_library_logs()
    try:
        names = asyncio.run(_served(_folder(context.params.get("data"))))
    except Exception:  # noqa: BLE001 - whatever is wrong, a shell must see no traceback where it expects words
        return []
    return sorted({name for name in names if name.startswith(incomplete)})


def _folder(given: Any) -> Path:
    if given is not None:
        return Path(given)
    import os

    if home := os.environ.get("TOOLMESH_DATA"):
        return Path(home)
    from toolmesh_client.profile import data_folder

    return data_folder()


async def _served(folder: Path) -> Iterable[str]:
    """Read the catalog's keys over a connection of our own: the client does more than is needed here."""
    import asyncio

    from toolmesh_broker.embedded.data_folder import DataFolder, is_locked

    profile = json.loads(await asyncio.to_thread((folder / "client.json").read_bytes))
    if not is_locked(DataFolder(folder)):
        return ()
    from toolmesh_broker.jetstream.broker import connect
    from toolmesh_broker.settings import ConnectionSettings

    seed, credentials = profile.get("nkey_seed_file"), profile.get("credentials_file")
    settings = ConnectionSettings(
        servers=tuple(profile["broker_url"].split(",")),
        namespace=profile["namespace"],
        identity=profile["identity"],
        nkey_seed_file=None if seed is None else Path(seed),
        credentials_file=None if credentials is None else Path(credentials),
    )
    keys: list[str] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_S), connect(settings) as broker:
            keys = await broker.keyvalue(broker.subjects.catalog_bucket()).keys()
    # <pool>.<tool>.<worker>; a tool's name is a token already.
    return [key.split(".")[1] for key in keys]
