"""How much one call of a tool may ask, so that a hostile tool can't burn money."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.model_config import ToolModelLimits
from toolmesh_executor.models.errors import ModelError

__all__ = ["AllowanceExceededError", "Allowances", "Reservation"]

_SWEPT_AT: Final = 1024
"""From so many calls on, those whose time is over are forgotten."""
_BYTES_PER_TOKEN: Final = 3
"""A careful estimate in UTF-8, until the provider says how many tokens a question had: where letters take more bytes,
they take more tokens too."""


class AllowanceExceededError(ToolmeshError):
    """Raised for a question beyond what its call may ask."""

    default_code = ErrorCode.RESOURCE_EXHAUSTED


@dataclass(slots=True)
class _Spent:
    deadline_ms: int
    calls: int = 0
    tokens: int = 0


class Reservation:
    """The tokens of one question: what it is expected to take, until it is known what it took.

    Attributes:
        asked: A provider was asked, or may have been.
    """

    def __init__(self, spent: _Spent, expected: int, limit: int) -> None:
        self._spent = spent
        self._expected = expected
        self._limit = limit
        self.asked = False
        spent.tokens += expected

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """Count what the provider may have worked on for nothing: all but an answer and a refusal that costs nothing.

        Raises:
            AllowanceExceededError: attempts that failed have used up what the call may take.
        """
        if self._spent.tokens > self._limit:
            raise AllowanceExceededError(
                f"this call has used or asked for {self._spent.tokens} tokens of {self._limit}, with questions that "
                "have failed"
            )
        asked_before, self.asked = self.asked, True
        try:
            yield
        except BaseException as error:
            if isinstance(error, ModelError) and error.unreached:
                self.asked = asked_before
            if not (isinstance(error, ModelError) and error.costs_nothing):
                self._spent.tokens += self._expected
            raise

    def settle(self, tokens: int) -> None:
        """Replace what was expected by what the answer took."""
        self._spent.tokens += tokens


class Allowances:
    """What calls have spent through this executor."""

    def __init__(self, limits: ToolModelLimits) -> None:
        self._limits = limits
        self._spent: dict[tuple[str, str], _Spent] = {}

    @contextlib.contextmanager
    def question(
        self, pool: str, invocation: str, deadline_ms: int, prompts: str, max_tokens: int
    ) -> Iterator[Reservation]:
        """Count a question while it is asked; what it took, or may have taken, stays counted.

        One that reached no provider, as there was no place, no time or no connection, counts for nothing. One that
        was refused takes no tokens, but counts as a question: a tool can't be refused for ever.

        Raises:
            AllowanceExceededError: its call has asked enough, or it would take more than is left.
        """
        characters = len(prompts)
        if characters > self._limits.max_prompt_characters:
            raise AllowanceExceededError(
                f"the question has {characters} characters, at most {self._limits.max_prompt_characters} are allowed"
            )
        spent = self._of(pool, invocation, deadline_ms)
        if spent.calls >= self._limits.calls_per_invocation:
            raise AllowanceExceededError(f"this call has asked {spent.calls} questions, and may ask no more")
        reserved = len(prompts.encode()) // _BYTES_PER_TOKEN + max_tokens
        if spent.tokens + reserved > self._limits.tokens_per_invocation:
            raise AllowanceExceededError(
                f"this call has used or asked for {spent.tokens} tokens of {self._limits.tokens_per_invocation}; the "
                f"question could take {reserved}"
            )
        spent.calls += 1
        reservation = Reservation(spent, reserved, self._limits.tokens_per_invocation)
        try:
            yield reservation
        finally:
            spent.tokens -= reserved
            spent.calls -= not reservation.asked

    def _of(self, pool: str, invocation: str, deadline_ms: int) -> _Spent:
        if len(self._spent) >= _SWEPT_AT:
            now_ms = time.time() * 1000
            self._spent = {key: spent for key, spent in self._spent.items() if spent.deadline_ms > now_ms}
        return self._spent.setdefault((pool, invocation), _Spent(deadline_ms))
