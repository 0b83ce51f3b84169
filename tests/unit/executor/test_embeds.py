"""Embeds in a text: what is one, what the early ones stand for, and that no text breaks or delays anything."""

import math
import random
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_executor.embeds.early import EarlyEmbeds, Growth

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
SOME_UUID = UUID("12345678-1234-4678-9234-567812345678")
EMBEDS = EarlyEmbeds(lambda: NOW, lambda: SOME_UUID, random.Random(7))  # noqa: S311 - the same in each run

PIECES = st.sampled_from(
    ["«", "»", ":", "|", "math", "datetime", "uuid", "status_update", "1+1", "**", "9", "%", "%Y", " ", "\n", "(", "a"]
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=30).map("".join)


def replaced(text: str) -> str:
    return EMBEDS.replace(text, lambda _: None, Growth())


@pytest.mark.parametrize(
    "text",
    [
        "« math : 1 + 1 »",
        "«math :1»",
        "«:»",
        "«:1»",
        "«math:1+1",
        "math:1+1»",
        "«math:1\n+1»",
        "«ma-th:1»",
        "«unknown:x | y»",
        "«Math:1»",
        "«artifact_content:report.md >>> head:3 >>> format:text»",
        "«artifact_return:report.md»",
        "«artifact_meta:report.md»",
        '«««template_liquid: data="f"\n{{ a | upcase }}\n»»»',
        "« bonjour »",
    ],
)
def test_what_is_no_early_embed_stays_as_it_is(text: str) -> None:
    """Other types, late ones, blocks and what only looks like an embed."""
    assert replaced(f"a {text} b") == f"a {text} b"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2*3", "7"),
        ("10/4", "2.5"),
        ("7//2 - 7%2", "2"),
        ("2**-1", "0.5"),
        ("1**999999999 + (-1)**999999999 + 0**999999999", "0"),
        ("-(+3)", "-3"),
        ("abs(-2) + round(2.567, 2)", "4.57"),
        ("round(2.5)", "2"),
        ("min(3, 1, 2) + max([4, 5]) + sum([1, 2, 3])", "12"),
        ("sqrt(16) + log(e) + log(8, 2) + log10(100)", "10.0"),
        ("sin(0) + cos(0) + tan(0) + asin(0) + atan(0) + atan2(0, 1)", "1.0"),
        ("sinh(0) + cosh(0) + tanh(0) + asinh(0) + acosh(1) + atanh(0) + acos(1)", "1.0"),
        ("factorial(5)", "120"),
        ("pi", str(math.pi)),
        ("inf", "inf"),
        ("10/3 | .2f", "3.33"),
        ("1234567 | ,", "1,234,567"),
        ("5|03d", "005"),
        ("10/4 | d", "2.5"),
        ("10/4 | no format", "2.5"),
        ("1 | 999999999d", "1"),
        ("171 | c", "171"),
        ("2**4000 | .2f", str(2**4000)),
    ],
)
def test_math_gives_the_value_under_its_format(expression: str, value: str) -> None:
    """A format that is none for the value leaves it as it is."""
    assert replaced(f"<«math:{expression}»>") == f"<{value}>"


def test_chance_keeps_to_its_bounds() -> None:
    """`random`, `randint` and `uniform`."""
    assert replaced("«math:randint(3, 3)»") == "3"
    assert 0 <= float(replaced("«math:random()»")) < 1
    assert 2 <= float(replaced("«math:uniform(2, 3)»")) <= 3


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 +",
        "1/0",
        "sqrt(-1)",
        "(-8)**0.5",
        "nothing",
        "open('x')",
        "().__class__",
        "'a'*9",
        "[1]*9",
        "1j",
        "True",
        "1 if 1 else 2",
        "1and 2",
        "pow(2, 2)",
        "round(1, ndigits=2)",
        "lambda: 1",
        "9**9**9",
        "2**4097",
        "2.0**99999",
        "factorial(501)",
        "factorial(-1)",
        "factorial(2.5)",
        "round(5, -999999999)",
        "randint(1)",
        "min()",
        "(" * 300 + "1" + ")" * 300,
        "-" * 499 + "1",
        "+".join("1" * 100),
        "1" * 501,
        "2**4000*2**4000",
        "\x00",
        "\ud800",
    ],
)
def test_math_without_a_value_is_an_error_in_its_place(expression: str) -> None:
    """Wrong, unsafe and too large expressions alike; the text around stays."""
    text = replaced(f"a «math:{expression}» b")
    assert text.startswith("a [Error: Math evaluation error: ")
    assert text.endswith("] b")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("", "2026-03-04T05:06:07+00:00"),
        ("now", "2026-03-04T05:06:07+00:00"),
        ("ISO", "2026-03-04T05:06:07+00:00"),
        ("timestamp", str(NOW.timestamp())),
        ("date", "2026-03-04"),
        ("time", "05:06:07"),
        ("%d.%m.%Y %H|%M", "04.03.2026 05|06"),
        ("%-d. %%", "4. %"),
        ("%999999999d", "[Error: Datetime formatting error: only directives such as %Y or %-d are allowed]"),
        ("%", "[Error: Datetime formatting error: only directives such as %Y or %-d are allowed]"),
    ],
)
def test_datetime_is_iso_or_in_the_given_form(expression: str, value: str) -> None:
    """With the zone; widths in a format could make it as long as they say, and are refused."""
    assert replaced(f"«datetime:{expression}»") == value


def test_uuid_and_status_updates() -> None:
    """A status is a signal: its text is taken out."""
    told: list[str] = []
    assert EMBEDS.replace("a«status_update: looking »b «uuid:» «status_update:»«uuid:x»", told.append, Growth()) == (
        f"ab {SOME_UUID} {SOME_UUID}"
    )
    assert told == ["looking"]


def test_nothing_is_replaced_twice() -> None:
    """What an embed leaves behind may look like one, and is none."""
    assert replaced("«ma«status_update:x»th:1+1»") == "«math:1+1»"
    assert replaced("«math:«math:1+1»»") == "«math:2»"


@given(st.text(alphabet=st.characters(exclude_characters="«")))
def test_a_text_without_embeds_comes_out_equal(text: str) -> None:
    """Whatever else stands in it."""
    assert replaced(text) == text


@given(TEXTS)
def test_no_text_raises_or_grows_out_of_bounds(text: str) -> None:
    """Any mixture of the tokens' parts."""
    assert len(replaced(text)) <= 1500 * (1 + text.count("«")) + len(text)


@given(st.text(alphabet="0123456789*+-/%().,e <>=|[]abcdfgiklmnopqrstuxyh", max_size=80))
def test_no_arithmetic_raises_or_grows_out_of_bounds(expression: str) -> None:
    """Whatever a model writes as an expression and format."""
    assert len(replaced(f"«math:{expression}»")) < 6000


def test_what_embeds_make_of_a_text_is_bounded() -> None:
    """Values that would make it grow too far stay as they are; shorter ones are still replaced, and statuses taken out."""
    growth = Growth(left=100)
    text = EMBEDS.replace("«math:9**99»«math:9**99»«math:1+1»«status_update:x»", lambda _: None, growth)
    assert text == f"{9**99}«math:9**99»2"
    assert growth.left == 100 - (len(str(9**99)) - len("«math:9**99»"))
