"""What a finished command means: the text for the model, and beside it, where no tool can write, how it ended."""

import codecs
import json
from dataclasses import dataclass
from typing import Final

from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.process.result_envelope import ToolReturn, failure
from toolmesh_sandbox.process import Exit

__all__ = ["CutText", "command_return", "cut_text"]

_SIGNAL_BASE: Final = 128
_LOGGED: Final = 2000


@dataclass(frozen=True, slots=True)
class CutText:
    """Text for the model.

    Attributes:
        shown: Its head, and where something is missing a line that says so.
        dropped: Characters that are not shown.
    """

    shown: str
    dropped: int


def command_return(ended: Exit, limit: int, wall_clock_s: float) -> ToolReturn:
    """Return the outcome of a command whose stdout and stderr came through one pipe.

    Args:
        ended: How it ended.
        limit: Characters that the model sees.
        wall_clock_s: Its time limit in seconds.
    """
    if ended.setup_failed is not None:
        message = "the sandbox could not be set up; the tool did not run"
        return failure(ErrorCode.SANDBOX_FAILED, message, log=ended.setup_failed[:_LOGGED])
    code = ended.code if ended.signal is None else _SIGNAL_BASE + ended.signal
    text = cut_text(ended.stdout, ended.stdout_dropped, ended.stdout_dropped_characters, limit)
    message = text.shown
    if ended.timed_out:
        line_end = "" if not message or message.endswith("\n") else "\n"
        message += f"{line_end}[timed out after {wall_clock_s:g} s]"
    elif not message:
        message = f"[exit code {code}]"
    status = {
        "exit_code": None if ended.timed_out else code,
        "timed_out": ended.timed_out,
        "truncated": text.dropped > 0,
        "dropped_characters": text.dropped,
    }
    error = None
    if ended.timed_out:
        error = ErrorInfo(code=ErrorCode.SANDBOX_TIMEOUT, message=f"timed out after {wall_clock_s:g} s")
    elif code != 0:
        error = ErrorInfo(code=ErrorCode.TOOL_ERROR, message=f"the command ended with exit code {code}")
    notes = ("it went over its limit of memory, and was killed for it",) if ended.out_of_memory else ()
    return ToolReturn(
        outcome=Outcome.OK if error is None else Outcome.ERROR,
        message=message,
        data=json.dumps(status).encode("ascii"),
        error=error,
        notes=notes,
    )


def cut_text(kept: bytes, dropped_bytes: int, dropped_characters: int, limit: int) -> CutText:
    """Return what a capture kept, as UTF-8 and cut to `limit` characters.

    Args:
        kept: The capture's bytes.
        dropped_bytes: How many came after them.
        dropped_characters: The characters in those.
        limit: Characters that the model sees.
    """
    # A character that the capture's end divides is counted with what came after it.
    text, _ = codecs.utf_8_decode(kept, "replace", not dropped_bytes)
    dropped = max(0, len(text) - limit) + dropped_characters
    if not dropped:
        return CutText(text, 0)
    return CutText(f"{text[:limit]}\n[output cut: {dropped} characters dropped]", dropped)
