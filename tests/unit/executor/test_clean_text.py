"""Cleaning what a provider says: in pieces as in the whole, and nothing is held that can't be a secret."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_executor.models.clean_text import TextCleaner
from toolmesh_executor.models.endpoints import Endpoints

KEY = "aab-aabc"
PIECES = st.sampled_from(["aab-aabc", "aab", "-", "a", "b", "c", "YWFi", "\ud800", " ", "aab-aab"])
TEXTS = st.lists(PIECES, max_size=20).map("".join)


def cleaner() -> TextCleaner:
    environment = {"OPENAI_API_KEY": KEY}
    return TextCleaner(Endpoints({}, environment).of("openai/small"))


@given(TEXTS, st.integers(1, 5))
def test_pieces_make_no_difference(text: str, size: int) -> None:
    """However the provider cuts it, no secret passes, and all else does."""
    clean = cleaner()
    passed = [clean.add(text[start : start + size]) for start in range(0, len(text), size)]
    assert "".join([*passed, clean.finish()]) == cleaner().whole(text)


@pytest.mark.parametrize(
    ("pieces", "passed"), [(("x aa", "b!"), ["x ", "aab!"]), (("aab-aab", "c"), ["", "[redacted]"])]
)
def test_only_the_beginning_of_a_secret_is_held(pieces: tuple[str, ...], passed: list[str]) -> None:
    """A reader need not wait for anything else."""
    clean = cleaner()
    assert [clean.add(piece) for piece in pieces] == passed
    assert clean.finish() == ""
