"""How much one call of a tool may ask, so that a hostile tool can't burn money."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.model_config import ToolModelLimits

__all__ = ["AllowanceExceededError", "Allowances", "Reservation"]

_SWEPT_AT: Final = 1024
"""From so many calls on, those whose time is over are forgotten."""
_CHARACTERS_PER_TOKEN: Final = 3
"""A careful estimate, until the provider says how many tokens a question had."""


class AllowanceExceededError(ToolmeshError):
    """Raised for a question beyond what its call may ask."""

    default_code = ErrorCode.RESOURCE_EXHAUSTED


@dataclass(slots=True)
class _Spent:
    deadline_ms: int
    calls: int = 0
    tokens: int = 0


@dataclass(slots=True)
class Reservation:
    """What a question is expected to take; set `tokens` to what it took."""

    tokens: int


class Allowances:
    """What calls have spent through this executor."""

    def __init__(self, limits: ToolModelLimits) -> None:
        self._limits = limits
        self._spent: dict[tuple[str, str], _Spent] = {}

    @contextlib.contextmanager
    def question(
        self, pool: str, invocation: str, deadline_ms: int, characters: int, max_tokens: int
    ) -> Iterator[Reservation]:
        """Count a question while it is asked; what it really took stays counted.

        Raises:
            AllowanceExceededError: its call has asked enough, or it would take more than is left.
        """
        if characters > self._limits.max_prompt_characters:
            raise AllowanceExceededError(
                f"the question has {characters} characters, at most {self._limits.max_prompt_characters} are allowed"
            )
        spent = self._of(pool, invocation, deadline_ms)
        if spent.calls >= self._limits.calls_per_invocation:
            raise AllowanceExceededError(f"this call has asked {spent.calls} questions, and may ask no more")
        reserved = characters // _CHARACTERS_PER_TOKEN + max_tokens
        if spent.tokens + reserved > self._limits.tokens_per_invocation:
            raise AllowanceExceededError(
                f"this call has used or asked for {spent.tokens} tokens of {self._limits.tokens_per_invocation}; the "
                f"question could take {reserved}"
            )
        spent.calls += 1
        spent.tokens += reserved
        reservation = Reservation(0)
        try:
            yield reservation
        finally:
            spent.tokens += reservation.tokens - reserved

    def _of(self, pool: str, invocation: str, deadline_ms: int) -> _Spent:
        if len(self._spent) >= _SWEPT_AT:
            now_ms = time.time() * 1000
            self._spent = {key: spent for key, spent in self._spent.items() if spent.deadline_ms > now_ms}
        return self._spent.setdefault((pool, invocation), _Spent(deadline_ms))
