"""Embeds in a text that is still being written: the same comes out however it is cut, and code stays."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.executor.test_embeds import TEXTS, replaced

from toolmesh_executor.embeds.streamed_text import StreamedText

LINES = st.lists(
    st.sampled_from(
        ["```", "```py", "~~~", "````", "  ```", "    ```", "``` a`b", "\n", "\r\n", "`", "~", "«math:1+1»"]
    )
    | TEXTS,
    max_size=12,
).map("".join)


def streamed(*chunks: str) -> list[str]:
    stream = StreamedText(replaced)
    return [*(stream.feed(chunk) for chunk in chunks), stream.end()]


def test_an_open_embed_waits_for_its_end() -> None:
    """What stands before it is shown at once."""
    assert streamed("a «ma", "th:1", "+1» b") == ["a ", "", "2 b", ""]
    assert streamed("a «math:1", "+1\n", "b") == ["a ", "«math:1+1\n", "b", ""]
    assert streamed("a «b c", "«math:1") == ["a «b c", "", "«math:1"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("«math:1+1»\n```py\n«math:1+1»\n```\n«math:1+1»", "2\n```py\n«math:1+1»\n```\n2"),
        (
            "~~~~\n«math:1+1»\n~~~\n```\n«math:1+1»\n~~~~~ \n«math:1+1»",
            "~~~~\n«math:1+1»\n~~~\n```\n«math:1+1»\n~~~~~ \n2",
        ),
        ("``` a`b\n«math:1+1»", "``` a`b\n2"),
        ("    ```\n«math:1+1»", "    ```\n2"),
        ("x ```\n«math:1+1»", "x ```\n2"),
        ("```\n``` py\n«math:1+1»", "```\n``` py\n«math:1+1»"),
        ("```«math:1+1»", "```«math:1+1»"),
        ("```\r\n«math:1+1»\r\n```\r\n«math:1+1»", "```\r\n«math:1+1»\r\n```\r\n2"),
    ],
)
def test_fenced_code_stays_as_it_is(text: str, shown: str) -> None:
    """As Markdown has it: a fence is closed by one of its own kind, at least as long, with nothing behind it."""
    assert "".join(streamed(text)) == shown
    assert "".join(streamed(*text)) == shown


@given(LINES, st.lists(st.integers(0, 200), max_size=20))
def test_any_chunks_give_the_whole_texts_output(text: str, cuts: list[int]) -> None:
    """Cut anywhere, empty chunks too."""
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    chunks = [text[start:end] for start, end in itertools.pairwise(places)]
    assert "".join(streamed(*chunks)) == "".join(streamed(text)) == "".join(streamed(*text))
