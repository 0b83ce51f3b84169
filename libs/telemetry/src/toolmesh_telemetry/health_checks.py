"""Health checks: small questions with a yes or a no, each within bounded time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolmesh_telemetry.redaction import Redactor

CHECK_TIMEOUT_S: Final = 2.0
_MAX_DETAIL_CHARS: Final = 300


@dataclass(frozen=True)
class CheckResult:
    """The answer of one check.

    Attributes:
        ok: Whether all is well.
        detail: For people: what is wrong, or a figure worth knowing.
    """

    ok: bool
    detail: str = ""


Check = Callable[[], Awaitable[CheckResult]]


async def run_checks(checks: Mapping[str, Check], redactor: Redactor, timeout_s: float) -> dict[str, dict[str, Any]]:
    """Run all checks at once; one that raises or takes too long has failed."""
    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(_run(check, timeout_s)) for name, check in checks.items()}
    results = {name: task.result() for name, task in tasks.items()}
    return {
        name: {"ok": result.ok, "detail": redactor.clip(result.detail, _MAX_DETAIL_CHARS)}
        for name, result in results.items()
    }


async def _run(check: Check, timeout_s: float) -> CheckResult:
    try:
        async with asyncio.timeout(timeout_s):
            return await check()
    except TimeoutError:
        return CheckResult(ok=False, detail=f"no answer within {timeout_s:g} s")
    except Exception as error:  # noqa: BLE001 - whatever a check raises is its answer: no
        return CheckResult(ok=False, detail=f"{type(error).__name__}: {error}")
