"""What one call may ask: counted while a question is asked, and by what it took afterwards."""

import pytest

from toolmesh_contracts.model_config import ToolModelLimits
from toolmesh_executor.models import allowances
from toolmesh_executor.models.allowances import AllowanceExceededError, Allowances

LIMITS = ToolModelLimits(calls_per_invocation=3, tokens_per_invocation=1000, max_prompt_characters=600)
LATER = 2**53


@pytest.mark.requirement("models:bounds")
def test_questions_at_a_time_are_bounded_before_their_cost_is_known() -> None:
    """Otherwise many questions at once would pass a limit that each of them alone keeps."""
    spent = Allowances(LIMITS)
    with spent.question("p", "call", LATER, 600, 600) as first:
        with pytest.raises(AllowanceExceededError, match="could take 800"):
            with spent.question("p", "call", LATER, 600, 600):
                pass
        with spent.question("p", "other call", LATER, 600, 600):
            pass
        first.tokens = 150
    with spent.question("p", "call", LATER, 600, 600) as second:
        second.tokens = 900
    with pytest.raises(AllowanceExceededError, match="1050 tokens of 1000"):
        with spent.question("p", "call", LATER, 3, 1):
            pass


@pytest.mark.requirement("models:bounds")
def test_failed_questions_count_as_questions_and_cost_nothing() -> None:
    """A provider that is down uses up no tokens, but a tool can't ask for ever."""
    spent = Allowances(LIMITS)
    for _ in range(3):
        with pytest.raises(RuntimeError):
            with spent.question("p", "call", LATER, 600, 600):
                raise RuntimeError
    with pytest.raises(AllowanceExceededError, match="asked 3 questions"):
        with spent.question("p", "call", LATER, 1, 1):
            pass


def test_calls_that_are_over_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is bounded by the calls that run."""
    monkeypatch.setattr(allowances, "_SWEPT_AT", 3)
    spent = Allowances(LIMITS)
    for number in range(10):
        with spent.question("p", f"call-{number}", 1, 1, 1):
            pass
    assert len(spent._spent) <= 3
