"""Tables that fit where they are shown."""

import pytest

from toolmesh_cli.columns import table

_ROWS = [("NAME", "DESCRIPTION"), ("weather", "Tell the weather of a city, today and tomorrow.")]


def test_nothing_is_cut_where_no_terminal_ends_the_line() -> None:
    """A pipe gets all of it."""
    assert table(_ROWS) == ["NAME     DESCRIPTION", "weather  Tell the weather of a city, today and tomorrow."]


@pytest.mark.parametrize(
    ("width", "last"),
    [
        (56, "weather  Tell the weather of a city, today and tomorrow."),
        (55, "weather  Tell the weather of a city, today and…"),
        (37, "weather  Tell the weather of a city,…"),
        (36, "weather  Tell the weather of a…"),
        (10, "weather  Tell the…"),
    ],
)
def test_the_last_column_is_cut_after_a_word_and_says_so(width: int, last: str) -> None:
    """Lines end where the terminal does, unless too little of the last column would be left."""
    assert table(_ROWS, width) == ["NAME     DESCRIPTION", last]
    assert len(last) <= max(width, 9 + 16)


def test_a_single_long_word_is_cut_inside() -> None:
    """There is no word to end after."""
    assert table([("a", "x" * 40)], 30) == ["a  " + "x" * 26 + "…"]
