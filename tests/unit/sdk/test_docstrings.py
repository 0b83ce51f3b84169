"""Docstrings in the three common forms."""

import pytest

from toolmesh_sdk.docstrings import parse_docstring

GOOGLE = """Do a thing
    in two lines.

    More.

    Args:
        a: First.
        b (int, optional): Second,
            continued.
        **rest: Others.
    Note:
        Keep this.
    """
NUMPY = """Do a thing in two lines.

    Parameters
    ----------
    a : str
        First.
    b : int, optional
        Second,
        continued.
    **rest
        Others.

    Notes
    -----
    Keep this.
    """
SPHINX = """Do a thing in two lines.

    :param a: First.
    :type a: str
    :param int b: Second,
        continued.
    :param rest: Others.
    :returns: Keep this.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_every_form_gives_the_same_texts(text: str) -> None:
    """The description is joined, parameters are found, and everything else stays."""
    parsed = parse_docstring(text)
    assert parsed.description == "Do a thing in two lines."
    assert parsed.parameters == {"a": "First.", "b": "Second, continued.", "rest": "Others."}
    assert "Keep this." in parsed.instructions
    assert "Second" not in parsed.instructions


@pytest.mark.parametrize("text", [None, "", "  \n ", "Args:\n    a: First."])
def test_nothing_said_is_no_description(text: str | None) -> None:
    """An Args block alone describes no tool."""
    assert parse_docstring(text).description == ""


def test_one_line_needs_nothing_else() -> None:
    """The usual docstring of a small tool."""
    parsed = parse_docstring("Do it.")
    assert (parsed.description, parsed.instructions, parsed.parameters) == ("Do it.", "", {})


def test_an_args_block_without_a_blank_line_before_it_is_found() -> None:
    """People forget the blank line."""
    parsed = parse_docstring("Do it.\nArgs:\n    a: First.\n")
    assert (parsed.description, parsed.parameters) == ("Do it.", {"a": "First."})
