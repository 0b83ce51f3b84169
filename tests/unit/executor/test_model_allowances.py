"""What one call may ask: counted while a question is asked, and by what it took afterwards."""

import asyncio

import pytest

from toolmesh_contracts.model_config import ToolModelLimits
from toolmesh_executor.models import allowances
from toolmesh_executor.models.allowances import AllowanceExceededError, Allowances
from toolmesh_executor.models.errors import ModelFailedError, ModelUnavailableError

LIMITS = ToolModelLimits(calls_per_invocation=3, tokens_per_invocation=1000, max_prompt_characters=600)
LATER = 2**53
LONG = "x" * 600


@pytest.mark.requirement("models:bounds")
def test_questions_at_a_time_are_bounded_before_their_cost_is_known() -> None:
    """Otherwise many questions at once would pass a limit that each of them alone keeps."""
    spent = Allowances(LIMITS)
    with spent.question("p", "call", LATER, LONG, 600) as first:
        with pytest.raises(AllowanceExceededError, match="could take 800"):
            with spent.question("p", "call", LATER, LONG, 600):
                pass
        with spent.question("p", "other call", LATER, LONG, 600):
            pass
        first.settle(150)
    with spent.question("p", "call", LATER, LONG, 600) as second:
        second.settle(900)
    with pytest.raises(AllowanceExceededError, match="1050 tokens of 1000"):
        with spent.question("p", "call", LATER, "why", 1):
            pass


@pytest.mark.requirement("models:bounds")
def test_refused_questions_count_as_questions_and_cost_nothing() -> None:
    """A provider that refuses uses up no tokens, but a tool can't ask for ever."""
    spent = Allowances(LIMITS)
    refusal = ModelFailedError("no")
    refusal.costs_nothing = True
    for _ in range(3):
        with pytest.raises(ModelFailedError):
            with spent.question("p", "call", LATER, LONG, 600) as question, question.attempt():
                raise refusal
    with pytest.raises(AllowanceExceededError, match="asked 3 questions"):
        with spent.question("p", "call", LATER, "w", 1):
            pass


@pytest.mark.parametrize("lost", [TimeoutError(), asyncio.CancelledError(), ModelUnavailableError("cut")])
@pytest.mark.requirement("models:bounds")
def test_attempts_whose_answer_was_lost_cost_what_they_could_have(lost: BaseException) -> None:
    """The provider charges for what it worked on, also if nobody waited for it; the same question is not asked again."""
    spent = Allowances(LIMITS)
    with spent.question("p", "call", LATER, LONG, 600) as question:
        with pytest.raises(type(lost)), question.attempt():
            raise lost
        with pytest.raises(AllowanceExceededError, match="1600 tokens of 1000"), question.attempt():
            pass
    with pytest.raises(AllowanceExceededError, match="800 tokens of 1000"):
        with spent.question("p", "call", LATER, LONG, 600):
            pass


@pytest.mark.parametrize("ended", [TimeoutError(), asyncio.CancelledError(), ModelUnavailableError("no place")])
@pytest.mark.requirement("models:bounds")
def test_question_that_no_provider_was_asked_counts_for_nothing(ended: BaseException) -> None:
    """A tool that waited in vain for a place, or whose executor stops, has not asked."""
    spent = Allowances(LIMITS)
    for _ in range(2 * LIMITS.calls_per_invocation):
        with pytest.raises(type(ended)), spent.question("p", "call", LATER, LONG, 600):
            raise ended
    with spent.question("p", "call", LATER, LONG, 800) as question:
        question.settle(1000)


@pytest.mark.parametrize(("reached_at_last", "questions"), [(False, 0), (True, 1)])
@pytest.mark.requirement("models:bounds")
def test_attempts_that_reach_nobody_count_for_nothing(*, reached_at_last: bool, questions: int) -> None:
    """A provider that is down uses up no questions either; one attempt that it has heard of does."""
    spent = Allowances(LIMITS)
    down = ModelUnavailableError("refused")
    down.unreached = down.costs_nothing = True
    with spent.question("p", "call", LATER, "w", 100) as question:
        for error in (down, *([ModelUnavailableError("cut")] if reached_at_last else []), down):
            with pytest.raises(ModelUnavailableError), question.attempt():
                raise error
    (counted,) = spent._spent.values()
    assert (counted.calls, counted.tokens) == (questions, 100 * questions)


@pytest.mark.requirement("models:bounds")
def test_letters_of_more_bytes_are_expected_to_take_more_tokens() -> None:
    """A token of Chinese is about one sign, not three."""
    with pytest.raises(AllowanceExceededError, match="could take 1100"):
        with Allowances(LIMITS).question("p", "call", LATER, "\u4e2d" * 600, 500):
            pass


def test_calls_that_are_over_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is bounded by the calls that run."""
    monkeypatch.setattr(allowances, "_SWEPT_AT", 3)
    spent = Allowances(LIMITS)
    for number in range(10):
        with spent.question("p", f"call-{number}", 1, "w", 1):
            pass
    assert len(spent._spent) <= 3
