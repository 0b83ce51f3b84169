"""How dead letters are shown: a line each without their content, or those of one id whole but for their secrets."""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from toolmesh_broker.dead_letters import KeptLetter
from toolmesh_cli.columns import table
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_contracts.envelopes.invocation import Invocation

__all__ = ["letter_document", "list_lines", "summary_document", "whole_lines"]

_REASON_CHARACTERS: Final = 72
_BODY_CHARACTERS: Final = 2000
_SEALED: Final = "(sealed to the pool)"


def summary_document(kept: KeptLetter) -> dict[str, Any]:
    """Return a letter's document in `dead list --json`: nothing of what the caller gave."""
    letter, call = kept.letter, kept.letter.invocation
    return {
        "id": kept.id,
        "pool": kept.pool,
        "at": _time(letter.at_ms),
        "code": letter.code.value,
        "reason": letter.reason,
        "worker": letter.worker,
        "tool": None if call is None else call.tool,
        "user": None if call is None else call.caller.user,
        "agent": None if call is None else call.caller.agent or None,
        "requeued_from": None if call is None else call.requeued_from,
    }


def letter_document(kept: KeptLetter) -> dict[str, Any]:
    """Return the document of `dead show --json`; secrets of the configuration are not in it."""
    letter, call = kept.letter, kept.letter.invocation
    return summary_document(kept) | {
        "subject": letter.subject,
        "headers": letter.headers,
        "invocation": None if call is None else _whole(call),
        "body_base64": None if letter.body is None else base64.b64encode(letter.body).decode(),
    }


def list_lines(found: Sequence[KeptLetter], terminal: Terminal) -> list[str]:
    """Return a table of letters."""
    if not found:
        return ["there are no dead letters"]
    lines = table([("ID", "AT", "CODE", "TOOL", "USER", "REASON"), *(_row(kept) for kept in found)], terminal.width)
    lines[0] = terminal.paint(lines[0], Colour.STRONG)
    return lines


def whole_lines(found: Sequence[KeptLetter], terminal: Terminal) -> list[str]:
    """Return letters as lines of a name and a value; several are numbered, with an empty line between them."""
    lines: list[str] = []
    for number, kept in enumerate(found, start=1):
        if len(found) > 1:
            between = [""] if lines else []
            lines += [*between, terminal.paint(f"letter {number} of {len(found)}", Colour.FAINT)]
        lines += _letter_lines(kept, terminal)
    return lines


def _letter_lines(kept: KeptLetter, terminal: Terminal) -> list[str]:
    document = summary_document(kept) | {"subject": kept.letter.subject}
    call, body = kept.letter.invocation, kept.letter.body
    if call is not None:
        document["arguments"] = _text(call.arguments) or (call.arguments_payload and "(in the payload store)")
        document["files"] = ", ".join(one.filename for one in call.artifacts.values())
        document["tool_config"] = _text(call.tool_config)
        document["sealed_config"] = call.sealed_config and _SEALED
    if body is not None:
        document["body"] = f"{len(body)} bytes: {body[:_BODY_CHARACTERS].decode(errors='replace')}"
    told = {name: str(value) for name, value in document.items() if value}
    width = max(len(name) for name in told)
    return [f"{terminal.paint(f'{name:<{width}}', Colour.STRONG)}  {visible(value)}" for name, value in told.items()]


def _whole(call: Invocation) -> Any:
    """Return a call as a document; as text if what its caller gave as JSON is none."""
    open_part = call if call.sealed_config is None else msgspec.structs.replace(call, sealed_config=_SEALED)
    encoded = msgspec.json.encode(open_part)
    try:
        return msgspec.json.decode(encoded)
    except (msgspec.DecodeError, RecursionError):
        return encoded.decode(errors="replace")


def _row(kept: KeptLetter) -> tuple[str, ...]:
    letter, call = kept.letter, kept.letter.invocation
    cells = (
        kept.id,
        _time(letter.at_ms),
        letter.code.value,
        "-" if call is None else call.tool,
        "-" if call is None else call.caller.user,
        letter.reason[:_REASON_CHARACTERS],
    )
    return tuple(visible(cell).replace("\n", " ") for cell in cells)


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _text(raw: msgspec.Raw | msgspec.UnsetType) -> str:
    return "" if isinstance(raw, msgspec.UnsetType) else bytes(raw).decode(errors="replace")
