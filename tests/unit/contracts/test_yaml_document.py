"""YAML with positions, and without surprises."""

import contextlib
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.document import MAX_NODES
from toolmesh_contracts.yaml_document import MAX_YAML_BYTES, parse_yaml, read_yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=12)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def refusal(text: str | bytes) -> str:
    """Return the problems of a text that must be refused."""
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "f.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("1_000", "1_000"),
        ("0o17", 15),
        ("0x1F", 31),
        ("-12", -12),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("'012'", "012"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("! 12", "12"),
        ("|\n  a\n  b\n", "a\nb\n"),
    ],
)
def test_scalars_mean_what_yaml_1_2_says(written: str, value: object) -> None:
    """`on`, `yes`, dates and base 60 stay text; only the core schema's values are read."""
    read = parse_yaml(f"key: {written}", "f").value()["key"]

    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("012", "leading zero"),
        ("-08", "leading zero"),
        (".inf", "no JSON form"),
        (".NaN", "no JSON form"),
        ("1e999", "too large"),
        ("9" * 5000, "over 64 bits"),
        ("18446744073709551616", "over 64 bits"),
        ("!!python/object:os.system x", "tags are not used"),
        ("!include other.yaml", "tags are not used"),
        ("!!set {a}", "tags are not used"),
    ],
)
def test_ambiguous_values_are_refused_with_the_line(written: str, reason: str) -> None:
    """What two readers take for different things is an error that says how to write it."""
    message = refusal(f"a: 1\nkey: {written}")

    assert "f.yaml:2" in message
    assert reason in message


def test_every_key_and_item_has_its_line_and_column() -> None:
    """Positions are those of keys and items; a path that is not there gives its parent's."""
    document = parse_yaml("a:\n  b:\n    - x\n    - c: 1\n", "f")

    assert document.position(("a", "b")) == (2, 3)
    assert document.position(("a", "b", 1)) == (4, 7)
    assert document.position(("a", "b", 1, "c")) == (4, 7)
    assert document.position(("a", "b", 9)) == (2, 3)
    assert document.position(("nothing",)) == (1, 1)


def test_all_duplicates_are_named_at_once() -> None:
    """A key given twice is an error that names both lines, and the reading goes on to the next one."""
    message = refusal("a: 1\nb: {x: 1, x: 2}\na: 3\n")

    assert "f.yaml:2: the key 'x' is there twice, first on line 2" in message
    assert "f.yaml:3: the key 'a' is there twice, first on line 1" in message


def test_aliases_and_merges_give_copies() -> None:
    """`<<` fills in what the mapping doesn't say itself, the first source first."""
    text = "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nuse:\n  <<: [*b, *m]\n  x: 9\nsame: *b\n"
    value = parse_yaml(text, "f").value()

    assert value["use"] == {"x": 9, "y": 2, "z": 4}
    assert value["same"] == {"x": 1, "y": 2}
    assert value["same"] is not value["base"]


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    """Nine levels of nine aliases would be 400 million values; the count stops them."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]

    assert f"more than {MAX_NODES} values" in refusal("\n".join(lines))


def test_depth_through_aliases_is_bounded() -> None:
    """A chain of aliases can't nest deeper than written nesting may."""
    lines = ["a0: &a0 [[[[[[[[[[x]]]]]]]]]]"] + [f"a{n}: &a{n} [[[[[[[[[[*a{n - 1}]]]]]]]]]]" for n in range(1, 10)]

    assert "nested deeper than 64 levels" in refusal("\n".join(lines))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "nesting depth"),
        ("{a: " * 70, "nested deeper"),
        ("a: &x [*x]", "no anchor &x that ends before it"),
        ("a: *nowhere", "no anchor &nowhere"),
        ("? [a]\n: 1", "a key must be a text"),
        ("a: &x y\n*x : 1", "an alias can't be a key"),
        ("a: 1\n---\nb: 2", "second document"),
        ("a: [1, 2", "not valid YAML"),
        ("a: b: c", "not valid YAML"),
        ("<<: 3\na: 1", "merges mappings only"),
        (b"a: \xff", "byte 3 (0xff) is not UTF-8"),
        ("a: \x01", "not valid YAML"),
        (b"a" * (MAX_YAML_BYTES + 1), "larger than"),
    ],
)
def test_broken_documents_are_refused(text: str | bytes, reason: str) -> None:
    """Each gives one clear sentence, in bounded time."""
    assert reason in refusal(text)


def test_the_number_of_problems_is_bounded() -> None:
    """A hundred thousand duplicates stop the reading, and the last problem says so."""
    with pytest.raises(ConfigError) as caught:
        parse_yaml("k: v\n" * 100_000, "f")

    assert len(caught.value.problems) == 101
    assert "too many problems" in caught.value.problems[-1].message


def test_a_byte_order_mark_is_skipped() -> None:
    """Files from Windows editors load."""
    assert parse_yaml(b"\xef\xbb\xbfa: 1", "f").value() == {"a": 1}


def test_an_empty_file_is_nothing() -> None:
    """No document at all is the value None."""
    assert parse_yaml("", "f").value() is None
    assert parse_yaml("# only a comment\n", "f").value() is None


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    """A missing file and a folder give the path and the reason."""
    with pytest.raises(ConfigError, match="No such file"):
        read_yaml(tmp_path / "nothing.yaml")
    with pytest.raises(ConfigError, match="no regular file"):
        read_yaml(tmp_path)


@given(TREES)
def test_what_yaml_writes_is_read_back(value: object) -> None:
    """Whatever PyYAML dumps with all texts quoted is read as it was."""
    text = yaml.safe_dump(value, default_style='"') if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    assert parse_yaml(text, "f").value() == value


@given(st.text(max_size=40))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    """Any text gives a document or a ConfigError, nothing else."""
    with contextlib.suppress(ConfigError):
        parse_yaml(text, "f").value()
