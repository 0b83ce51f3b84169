"""What a broker holds for a namespace, counted from outside: streams, consumers, messages, and what should have expired."""

import base64
import contextlib
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from toolmesh_broker.jetstream.api import ApiError, api_request
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_contracts.headers import MESSAGE_TTL

_KEPT_ON_PURPOSE = ("LEDGER", "RESULTS", "DEAD")
"""Streams that hold something of each call for a day or longer; see `keys_past_their_ttl`."""
_LATE_S = 10.0


async def stored_counts(admin: Connection) -> Counter[str]:
    """How many streams there are, and how many consumers and messages each has."""
    streams = (await api_request(admin, "STREAM.LIST"))["streams"]
    counts = Counter({"streams": len(streams)})
    for stream in streams:
        name = stream["config"]["name"]
        counts[f"consumers of {name}"] = stream["state"]["consumer_count"]
        if not any(kept in name for kept in _KEPT_ON_PURPOSE):
            counts[f"subjects with messages in {name}"] = stream["state"].get("num_subjects", 0)
    return counts


async def keys_past_their_ttl(admin: Connection) -> list[str]:
    """Messages that are still there though their time is over, and those of buckets that have none."""
    found = []
    for stream in (await api_request(admin, "STREAM.LIST"))["streams"]:
        name, state = stream["config"]["name"], stream["state"]
        if not name.startswith(("KV_", "OBJ_")):
            continue
        for sequence in range(state["first_seq"], state["last_seq"] + 1):
            with contextlib.suppress(ApiError):  # it has been replaced
                message = (await api_request(admin, f"STREAM.MSG.GET.{name}", {"seq": sequence}))["message"]
                if problem := _past_its_ttl(message):
                    found.append(f"{name}: {message['subject']} {problem}")
    return found


def _past_its_ttl(message: dict[str, Any]) -> str:
    lines = base64.b64decode(message.get("hdrs", "")).decode().split("\r\n")
    ttls = [line.partition(":")[2].strip() for line in lines if line.startswith(f"{MESSAGE_TTL}:")]
    if not ttls:
        return "never expires"
    age_s = (datetime.now(UTC) - datetime.fromisoformat(message["time"][:19] + "+00:00")).total_seconds()
    over_s = age_s - float(ttls[0].removesuffix("s"))
    return f"should be gone for {over_s:.0f} s" if over_s > _LATE_S else ""
