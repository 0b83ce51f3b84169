"""The embedded server's configuration file, rendered from data; it holds public keys only.

NATS' configuration language is a superset of JSON, so the file is JSON and needs no escaping rules of its own.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from toolmesh_broker.accounts import Account, Export, accounts_for
from toolmesh_broker.identities import Identity
from toolmesh_broker.permissions import permissions_for
from toolmesh_contracts.model_config import LONGEST_MODEL_ANSWER_S
from toolmesh_contracts.subjects import Subjects

__all__ = ["Durability", "ServerConfig", "render_config"]

_MEBIBYTE: Final = 1024 * 1024
_MAX_PAYLOAD: Final = _MEBIBYTE
"""Bytes; larger contents travel through the payload store."""
_MAX_MEMORY_STORE: Final = 256 * _MEBIBYTE
"""Bytes for the streams kept in memory, which are heartbeats only."""
_PING_INTERVAL: Final = "6s"
_PINGS_UNANSWERED: Final = 2
"""A client that is gone without a word is let go of after three intervals; then nobody waits for its answers."""
_LOG_FILE_LIMIT: Final = 8 * _MEBIBYTE
_LOG_FILES_KEPT: Final = 3
_ANSWER_WITHIN: Final = f"{LONGEST_MODEL_ANSWER_S + 10}s"
"""How long an identity may answer a request; the way back between accounts is kept as long, or until the answer. Models
are the slowest to answer, and an answer without a way back is paid for and lost."""
_PULL_SILENT_AFTER: Final = "15s"
"""The way back of a pull costs some 4 KB and is kept until the pull has been silent for this long: three times its
heartbeat. Pulls without a heartbeat would break off."""


class Durability(StrEnum):
    """What an acknowledged write survives."""

    FAST = "fast"
    """Death of any process; not a power cut (the disk is synced every 2 minutes)."""
    DURABLE = "durable"
    """A power cut too: every write is synced to the disk, at about a tenth of the throughput."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """What one start of the server needs to know."""

    subjects: Subjects
    pools: tuple[str, ...]
    keys: Mapping[Identity, str]
    """Public nkey of each identity."""
    store_folder: Path
    ports_folder: Path
    log_file: Path
    port: int | None = None
    """None lets the kernel choose."""
    max_store_bytes: int
    durability: Durability = Durability.FAST


def render_config(config: ServerConfig) -> str:
    """Return the file's text."""
    accounts = accounts_for(config.keys, config.subjects, config.pools)
    jetstream: dict[str, object] = {
        "store_dir": str(config.store_folder),
        "max_file_store": config.max_store_bytes,
        "max_memory_store": _MAX_MEMORY_STORE,
    }
    if config.durability is Durability.DURABLE:
        jetstream["sync_interval"] = "always"
    content = {
        "server_name": f"toolmesh-{config.subjects.namespace}",
        "listen": f"127.0.0.1:{config.port or -1}",
        "ports_file_dir": str(config.ports_folder),
        "max_payload": _MAX_PAYLOAD,
        "ping_interval": _PING_INTERVAL,
        "ping_max": _PINGS_UNANSWERED,
        "jetstream": jetstream,
        "accounts": {account.name: _account(account, config) for account in accounts},
        "log_file": str(config.log_file),
        "logfile_size_limit": _LOG_FILE_LIMIT,
        "logfile_max_num": _LOG_FILES_KEPT,
        "debug": False,
        "trace": False,
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _account(account: Account, config: ServerConfig) -> dict[str, object]:
    section: dict[str, object] = {
        "users": [_user(identity, config) for identity in account.identities],
        "exports": [_export(one) for one in account.exports],
        "imports": [{"service": {"account": one.owner, "subject": one.subject}} for one in account.imports],
    }
    if account.holds_streams:
        section["jetstream"] = "enabled"
    return section


def _export(export: Export) -> dict[str, object]:
    return {
        "service": export.subject,
        "accounts": list(export.users),
        "response_type": "stream" if export.many_answers else "singleton",
        "response_threshold": _PULL_SILENT_AFTER if export.many_answers else _ANSWER_WITHIN,
    }


def _user(identity: Identity, config: ServerConfig) -> dict[str, object]:
    allowed = permissions_for(identity, config.subjects, config.pools)
    permissions: dict[str, object] = {
        "publish": {"allow": list(allowed.publish)},
        "subscribe": {"allow": list(allowed.subscribe)},
    }
    if allowed.may_answer:
        permissions["allow_responses"] = {"max": 1, "expires": _ANSWER_WITHIN}
    return {"nkey": config.keys[identity], "permissions": permissions}
