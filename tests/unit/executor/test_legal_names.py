"""Names that every provider takes."""

import re

from hypothesis import given
from hypothesis import strategies as st

from toolmesh_executor.models.legal_names import legal_name, legal_names

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def test_a_legal_name_stays_and_others_are_spelled_legally() -> None:
    """A model sees what the agent's file says wherever it can."""
    assert legal_names(["echo", "a.b/c"]) == {"echo": "echo", "a.b/c": "a_b_c"}


def test_two_names_never_share_a_spelling() -> None:
    """A call would go to the wrong tool."""
    names = legal_names(["a_b", "a.b", "a/b", "x" * 80, "x" * 81])
    assert names["a_b"] == "a_b"
    assert len(set(names.values())) == 5


@given(st.lists(st.text(min_size=1, max_size=90), unique=True, max_size=12))
def test_spellings_are_legal_unique_and_stable(names: list[str]) -> None:
    """In whatever order the tools come."""
    legal = legal_names(names)
    assert all(LEGAL.fullmatch(spelling) for spelling in legal.values())
    assert len(set(legal.values())) == len(names)
    assert legal_names(reversed(names)) == legal


@given(st.text(max_size=90))
def test_any_name_of_a_history_becomes_legal(name: str) -> None:
    """Models make names up."""
    assert LEGAL.fullmatch(legal_name(name))
