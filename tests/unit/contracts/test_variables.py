"""Variables in parsed values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.config_problems import ConfigPath
from toolmesh_contracts.variables import MAX_EXPANDED_CHARACTERS, MalformedReferenceError, expand, substitute
from toolmesh_contracts.yaml_document import parse_yaml

ENVIRONMENT = {"HOST": "example.com", "EMPTY": "", "PORT": "8080", "YES": "true", "TRICK": "a: {b: 1}\n- ${HOST}"}
NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${HOST}", "example.com"),
        ("http://${HOST}:${PORT}/x", "http://example.com:8080/x"),
        ("${NONE, default}", "default"),
        ("${NONE,default}", "default"),
        ("${NONE, }", ""),
        ("${NONE:-a b}", "a b"),
        ("${EMPTY, d}", ""),
        ("${EMPTY:-d}", "d"),
        ("${EMPTY}", ""),
        ("${HOST:-d}", "example.com"),
        ("${NONE, ${HOST}}", "example.com"),
        ("${NONE:-${NOR:-${PORT}}}", "8080"),
        ("${HOST, ${NONE}}", "example.com"),
        ("${NONE:-http://h:1/?a=b,c}", "http://h:1/?a=b,c"),
        ("$${HOST}", "${HOST}"),
        ("$$${HOST}", "$${HOST}"),
        ("$$", "$$"),
        ("$HOST $1 {x}", "$HOST $1 {x}"),
        ("${TRICK}", "a: {b: 1}\n- ${HOST}"),
    ],
)
def test_forms(text: str, filled: str) -> None:
    """Every form, text around it, nested defaults, escapes; a variable's own `${` is not read again."""
    result = substitute(text, ENVIRONMENT)

    assert result.text == filled
    assert result.missing == []


@pytest.mark.parametrize("text", ["${", "${}", "${HOST", "${1A}", "${A-B}", "${A:x}", "${ A}", "${A, ${B}", "${A:+x}"])
def test_malformed_references_are_refused(text: str) -> None:
    """A typo in a reference is never taken for text."""
    with pytest.raises(MalformedReferenceError):
        substitute(text, {"A": "x", "B": "y"})


def test_defaults_nest_only_so_deep() -> None:
    """A thousand nested references are an error, not a crash."""
    with pytest.raises(MalformedReferenceError, match="nest deeper"):
        substitute("${A:-" * 1000, {})


def test_every_missing_variable_is_named_with_its_line() -> None:
    """All problems of a file come at once: file, line, key and variable."""
    document = parse_yaml("a: ${ONE}\nb:\n  - ${TWO}-${THREE}-${TWO}\nc: ${bad-name}\nd: ${FINE, x}\n", "f.yaml")

    shown = [str(problem) for problem in expand(document, {}).problems]

    assert [line.split(" is not set")[0] for line in shown[:3]] == [
        "f.yaml:1: a: the environment variable ONE",
        "f.yaml:3: b[0]: the environment variable TWO",
        "f.yaml:3: b[0]: the environment variable THREE",
    ]
    assert shown[3].startswith("f.yaml:4: c: the ${bad at character 1 is not closed")
    assert len(shown) == 4


def test_keys_are_left_alone_and_values_add_no_structure() -> None:
    """A variable can't become a key, a list or a mapping."""
    document = parse_yaml("${HOST}: ${TRICK}\n", "f")

    assert expand(document, ENVIRONMENT).value == {"${HOST}": ENVIRONMENT["TRICK"]}


def test_paths_that_hold_a_variable_are_told() -> None:
    """Set, unset with a default, or only a part of the text: all of them count; an escape does not."""
    text = "a: ${HOST}\nb: [x, 'y${NONE, z}']\nc: plain\nd: $${HOST}\ne: {f: '${PORT}'}\n"
    expansion = expand(parse_yaml(text, "f"), ENVIRONMENT)

    expected: set[ConfigPath] = {("a",), ("b", 1), ("e", "f")}
    assert expansion.referenced == expected
    assert expansion.value["d"] == "${HOST}"


def test_an_unquoted_reference_also_has_a_type() -> None:
    """`${PORT}` can be read as a number, a quoted one only as text; the plain value stays text."""
    text = "a: ${PORT}\nb: '${PORT}'\nc: ${YES}\nd: x${PORT}\ne: ${NONE, 007}\nf: ${NONE, 1.5}\ng: ${NONE, 1e5}\n"
    expansion = expand(parse_yaml(text, "f"), ENVIRONMENT)

    assert expansion.value["a"] == "8080"
    assert dict(expansion.typed) == {("a",): 8080, ("c",): True, ("f",): 1.5}


def test_the_expanded_size_is_bounded() -> None:
    """Many references to a large variable don't fill the memory."""
    document = parse_yaml("\n".join(f"k{n}: ${{BIG}}" for n in range(20)), "f")

    problems = expand(document, {"BIG": "x" * (MAX_EXPANDED_CHARACTERS // 10)}).problems

    assert problems
    assert "larger than" in str(problems[0])


@given(st.text(max_size=40), NAMES, st.text(max_size=10))
def test_values_are_taken_literally(before: str, name: str, value: str) -> None:
    """Whatever a variable holds arrives unchanged between its neighbours."""
    before = before.replace("$", "")

    assert substitute(f"{before}${{{name}}}{before}", {name: value}).text == before + value + before


@given(st.text("${}:-, AB", max_size=30))
def test_any_text_is_filled_in_or_refused(text: str) -> None:
    """No text makes the parser fail in another way, and without `${` nothing changes."""
    try:
        result = substitute(text, {"A": "1"})
    except MalformedReferenceError:
        assert "${" in text
    else:
        assert "${" in text or result.text == text
