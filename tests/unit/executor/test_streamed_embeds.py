"""Embeds in a text that comes in pieces: no piece changes the outcome, and code stays as it is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_executor.embeds.streamed_text import StreamedText
from toolmesh_executor.embeds.tokens import Embed, replace_embeds

PIECES = st.sampled_from(["«", "»", "x:", ":", "`", "```", "~~~", "````", "\n", " ", "    ", "\r", "a", "«x:1»"])
TEXTS = st.lists(PIECES, max_size=40).map("".join)
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def shouted(text: str) -> str:
    """Every embed, whatever its type, becomes its expression in capitals."""

    def value_of(embed: Embed) -> str:
        return f"<{embed.expression.upper()}>"

    return replace_embeds(text, value_of)


def streamed(*pieces: str) -> str:
    text = StreamedText(shouted)
    return "".join([*(text.add(piece) for piece in pieces), text.finish()])


@given(TEXTS, st.integers(1, 7))
def test_pieces_make_no_difference(text: str, size: int) -> None:
    """However a provider cuts its answer, people see the same."""
    assert streamed(*(text[start : start + size] for start in range(0, len(text), size))) == streamed(text)


@given(TEXTS.filter(lambda text: not FENCE.search(text)), st.integers(1, 7))
def test_text_without_code_is_as_if_it_were_whole(text: str, size: int) -> None:
    """Each embed is replaced once, and all else stays byte for byte."""
    assert streamed(*(text[start : start + size] for start in range(0, len(text), size))) == shouted(text)


def test_only_what_may_become_an_embed_is_held() -> None:
    """People need not wait for the rest."""
    text = StreamedText(shouted)
    seen = [text.add(piece) for piece in ("It is ", "a «x", ":b", "c» day", " « so", " on", "`", "\n``", "`")]
    assert seen == ["It is ", "a ", "", "<BC> day", " « so", " on", "`", "\n", ""]
    assert text.finish() == "```"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("```\n«x:a»\n```\n«x:a»", "```\n«x:a»\n```\n<A>"),
        ("~~~py\n«x:a»\n```\n«x:a»\n~~~~ \n«x:a»", "~~~py\n«x:a»\n```\n«x:a»\n~~~~ \n<A>"),
        ("````\n«x:a»\n```\n«x:a»", "````\n«x:a»\n```\n«x:a»"),
        ("   ```«x:a»\n«x:a»", "   ```«x:a»\n«x:a»"),
        ("    ```\n«x:a»", "    ```\n<A>"),
        ("```«x:a»```\n«x:a»", "```<A>```\n<A>"),
        ("a ```\n«x:a»", "a ```\n<A>"),
        ("`«x:a»`", "`<A>`"),
        ("```\r\n«x:a»\r\n```\r\n«x:a»", "```\r\n«x:a»\r\n```\r\n<A>"),
        ("```\n«x:a»\n``` b\n«x:a»", "```\n«x:a»\n``` b\n«x:a»"),
    ],
)
def test_blocks_of_code_stay_as_they_are(text: str, shown: str) -> None:
    """From the line that opens a block to the one that closes it, or to the end."""
    assert streamed(text) == shown
    assert streamed(*text) == shown


def test_long_lines_are_not_held_for_ever() -> None:
    """What can't become an embed or a fence any more is passed on; a long text in small pieces takes no long time."""
    for begin in ("```", "«x:", "```\n", " " * 4 + "`"):
        text = StreamedText(shouted)
        passed = text.add(begin) + "".join(text.add("y" * 10) for _ in range(20_000))
        assert len(passed) > 190_000
        assert passed + text.finish() == begin + "y" * 200_000
