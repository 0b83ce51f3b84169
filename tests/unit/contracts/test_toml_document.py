"""TOML with positions."""

import pytest

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.toml_document import MAX_TOML_BYTES, parse_toml

TEXT = '''# comment
name = "x"   # [not.a.header]
"quoted key" = 1
text = """
fake = 1
[fake]
"""
literal = \'\'\'
other = 2\'\'\'
list = [
  1,
  [2],
  { a = 3 },
]
dotted.inner = 4

[table] # note
key = { inline = 5 }

[[table.rows]]
id = 1

[[table.rows]]
id = 2
[table.rows.sub]
deep = 3
'''


def test_keys_have_their_lines() -> None:
    """Headers, dotted and quoted keys and arrays of tables are found; text and inline values keep their key's line."""
    document = parse_toml(TEXT, "f")

    expected: dict[tuple[str | int, ...], int] = {
        ("name",): 2,
        ("quoted key",): 3,
        ("text",): 4,
        ("literal",): 8,
        ("list",): 10,
        ("list", 2, "a"): 10,
        ("dotted", "inner"): 15,
        ("table",): 17,
        ("table", "key", "inline"): 18,
        ("table", "rows", 0, "id"): 21,
        ("table", "rows", 1, "id"): 24,
        ("table", "rows", 1, "sub", "deep"): 26,
    }
    assert {path: document.position(path)[0] for path in expected} == expected
    assert document.value()["table"]["rows"] == [{"id": 1}, {"id": 2, "sub": {"deep": 3}}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = 1\nb = nan", "f.toml:2: b: nan and inf"),
        ("a = -inf", "nan and inf"),
        ("\nd = 2020-01-01", "f.toml:2: d: dates and times"),
        ("d = 10:00:00", "dates and times"),
        ("n = 99999999999999999999", "over 64 bits"),
        ("n = " + "9" * 5000, "not valid TOML"),
        ("a = 1\na = 2", "f.toml:2: this is not valid TOML"),
        ("a =", "f.toml:1: this is not valid TOML"),
        ("a = " + "[" * 5000, "nested deeper"),
        ("a = " + "[" * 70 + "]" * 70, "nested deeper"),
        ("x = 1\n" + "a." * 60_000 + "a = 1", "f.toml:2: a line with more than 500 dots"),
        ("[" + "a." * 100 + "a]", "nested deeper"),
        (b"a = '\xff'", "not UTF-8"),
        ("#" * (MAX_TOML_BYTES + 1), "larger than"),
    ],
)
def test_broken_documents_are_refused(text: str | bytes, reason: str) -> None:
    """Each gives one sentence with its line where there is one."""
    raw = text.encode() if isinstance(text, str) else text
    with pytest.raises(ConfigError) as caught:
        parse_toml(raw, "f.toml")

    assert reason in str(caught.value)


def test_byte_order_mark_and_crlf_are_fine() -> None:
    """Files from Windows editors load."""
    assert parse_toml(b"\xef\xbb\xbfa = 1\r\nb = 2\r\n", "f").value() == {"a": 1, "b": 2}
