"""Opens a client: a connection, the replies to it, and a view of the catalog."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from toolmesh_broker.jetstream.broker import connect as connect_broker
from toolmesh_broker.ports import Broker
from toolmesh_broker.reply_listener import ReplyListener
from toolmesh_broker.task_scope import task_scope
from toolmesh_client.client import Client
from toolmesh_client.profile import PROFILE_NAME, read_profile, settings_from
from toolmesh_client.profile import data_folder as default_data_folder
from toolmesh_client.settings import ClientSettings
from toolmesh_client.shared_replies import SharedReplies
from toolmesh_client.tool_catalog import ToolCatalog

__all__ = ["client_over", "connect"]


@contextlib.asynccontextmanager
async def connect(
    settings: ClientSettings | None = None, *, profile: Path | None = None, data_folder: Path | None = None
) -> AsyncIterator[Client]:
    """Connect and call tools inside the block. At its end, calls that are still open are cancelled.

    Args:
        settings: Everything explicitly; else it is read from a profile.
        profile: The profile's path.
        data_folder: The data folder of a running `toolmesh up`, whose profile is taken; None is the default one.

    Raises:
        BrokerUnreachableError: there is no running toolmesh, or its broker does not answer.
        ProfileError: the profile can't be used.
    """
    if settings is None:
        settings = settings_from(read_profile(profile or (data_folder or default_data_folder()) / PROFILE_NAME))
    async with connect_broker(settings.connection) as broker, client_over(broker, settings) as client:
        yield client


@contextlib.asynccontextmanager
async def client_over(broker: Broker, settings: ClientSettings) -> AsyncIterator[Client]:
    """Open a client on a connection that is there; BrokerUnreachableError ends it if that is lost for good."""
    listener = SharedReplies if settings.shared else ReplyListener
    async with (
        ToolCatalog.open(broker) as catalog,
        listener.open(broker, settings.executor) as replies,
        task_scope() as tasks,
    ):
        watching = tasks.create_task(broker.lost())
        client = Client(broker, settings, replies, catalog, tasks)
        forget = broker.on_reconnect(client.reconnected)
        try:
            yield client
        finally:
            forget()
            try:
                await client.close()
            finally:
                watching.cancel()
