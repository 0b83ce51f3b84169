"""Redaction of texts and of data."""

import base64
import json
import math
import threading
from collections import OrderedDict, deque
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_telemetry.redaction import MAX_ITEMS, MAX_TEXT_CHARS, MAX_TOTAL_CHARS, Redactor
from toolmesh_telemetry.secret_names import is_secret_name
from toolmesh_telemetry.secret_patterns import MASK

SECRET = 'p@ss"w\\ör d/+1'
JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ1c2VyLTEifQ.c2lnbmF0dXJl"
SEED = "SUAM" + "A2B3C4D5E6F7G2H3I4J5K6L7M2N3O4P5Q6R7S2T3U4V5W6X7Y2Z3AB"
PEM = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v\n-----END PRIVATE KEY-----"


def told(*secrets: str | bytes) -> Redactor:
    redactor = Redactor()
    redactor.add(*secrets)
    return redactor


def test_a_known_secret_is_hidden_however_it_is_spelled() -> None:
    """Plain, in JSON, in a repr, in a URL and in base64."""
    raw = SECRET.encode()
    spellings = [
        SECRET,
        json.dumps(SECRET),
        json.dumps({"x": SECRET}, ensure_ascii=False),
        repr(SECRET),
        quote(SECRET, safe=""),
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
    ]
    for text in spellings:
        clean = told(SECRET).text(f"before {text} after")
        assert MASK in clean
        assert clean.startswith("before ")
        assert clean.endswith(" after")
        assert "w\\" not in clean
        assert "/+1" not in clean


def test_exact_redaction_hides_told_secrets_only() -> None:
    """For data that must stay as it is apart from them, such as a tool's result."""
    assert told("swordfish").exact("swordfish, password=other") == f"{MASK}, password=other"


def test_secrets_may_be_bytes() -> None:
    """Also bytes that are no UTF-8 do no harm."""
    assert told(b"swordfish").text("a swordfish") == f"a {MASK}"
    assert told(b"\xff\xfe\xfd\xfc").text("a swordfish") == "a swordfish"


def test_one_line_of_a_secret_file_is_hidden() -> None:
    """A trace that shows a single line of a key file shows nothing."""
    assert told("first-line-is-long-enough\nshort\n").text("got first-line-is-long-enough!") == f"got {MASK}!"


def test_overlapping_secrets_leave_no_rest() -> None:
    """Neither a longer secret around a shorter one, nor two that share characters."""
    assert told("abcdef", "abcd").text("xabcdefx") == f"x{MASK}x"
    assert told("abcdef", "defghi").text("xabcdefghix") == f"x{MASK}x"
    assert told("aaaa").text("aaaaaaaaa b") == f"{MASK} b"


@pytest.mark.parametrize(
    ("secret", "text", "clean"),
    [
        ("abc", "abc, (abc) x=abc; 'abc'\\n", f"{MASK}, ({MASK}) x={MASK}; '{MASK}'\\n"),
        ("abc", "abcd xabc ab_abc äabc 1abc", "abcd xabc ab_abc äabc 1abc"),
        ("42", "pin 42 of 421 4.42", f"pin {MASK} of 421 4.{MASK}"),
        ("a+", "a+ a+b xa+", f"{MASK} a+b xa+"),
        ("a/b", "path=a%2Fb", f"path={MASK}"),
        ("x", "x", "x"),
        ("--", "a -- b", "a -- b"),
        ("", "abc", "abc"),
    ],
)
def test_short_secret_is_hidden_as_a_word_of_its_own(secret: str, text: str, clean: str) -> None:
    """As a part of other words it would shred every line; a single character, and mere signs, are no secret."""
    assert told(secret).text(text) == clean
    assert told(secret).exact(text) == clean


def test_a_secret_is_hidden_for_the_time_of_a_block() -> None:
    """Two calls with the same secret don't uncover each other's."""
    redactor = Redactor()
    with redactor.hiding(["swordfish"]):
        with redactor.hiding(["swordfish", "marlin-2"]):
            assert redactor.text("swordfish marlin-2") == f"{MASK} {MASK}"
        assert redactor.text("swordfish marlin-2") == f"{MASK} marlin-2"
    assert redactor.text("swordfish") == "swordfish"
    redactor.remove("never added")
    with pytest.raises(KeyError), redactor.hiding(["swordfish"]):
        raise KeyError
    assert redactor.text("swordfish") == "swordfish"


def test_secrets_can_come_and_go_in_several_threads() -> None:
    """Counts stay right, and readers see whole states."""
    redactor = told("constant-secret")

    def work(name: str) -> None:
        for _ in range(200):
            with redactor.hiding([name]):
                assert redactor.text(f"{name} constant-secret") == f"{MASK} {MASK}"

    threads = [threading.Thread(target=work, args=(f"secret-{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert repr(redactor) == "Redactor(1 secrets)"


HIDDEN: list[tuple[str, str]] = [
    ("nats://user:pass@host:4222/x", f"nats://{MASK}@host:4222/x"),
    ("nats://tokenonly@host", f"nats://{MASK}@host"),
    ("postgres://u:p@ss@host/db", f"postgres://{MASK}@host/db"),
    ("Authorization: Bearer abc", f"Authorization: {MASK}"),
    ("'Authorization': 'Basic dXNlcjpwYXNz'", f"'Authorization': '{MASK}'"),
    ("Cookie: a=1; b=2\nHost: x", f"Cookie: {MASK}\nHost: x"),
    ("sent bearer abcdefghijklmnop99", f"sent bearer {MASK}"),
    ("basic dXNlcjpwYXNzd29yZDEyMw==", f"basic {MASK}"),
    (f"token {JWT} rejected", f"token {MASK} rejected"),
    (f"x-{JWT}", f"x-{MASK}"),
    (f"seed {SEED}.", f"seed {MASK}."),
    (f"a {PEM} b", f"a {MASK} b"),
    (f"cut {PEM[:40]}", f"cut {MASK}"),
    (PEM.replace("PRIVATE", "EC PRIVATE").replace("\n", "\\n"), MASK),
    ("password=hunter2, next", f"password={MASK}, next"),
    ("DB_PASSWORD = hunter2", f"DB_PASSWORD = {MASK}"),
    ("password: 'a b\\'c' next", f"password: '{MASK}' next"),
    ('{"client_secret": "a\\"b", "x": 1}', f'{{"client_secret": "{MASK}", "x": 1}}'),
    ('{\\"api_key\\": \\"abc\\", \\"x\\": 1}', f'{{\\"api_key\\": \\"{MASK}\\", \\"x\\": 1}}'),
    ("{\\'api_key\\': \\'abc\\'}", f"{{\\'api_key\\': \\'{MASK}\\'}}"),
    ('{"password": "never closed', f'{{"password": "{MASK}'),
    ("https://x/?api_key=abc&y=1", f"https://x/?api_key={MASK}&y=1"),
    ("access_token: abc", f"access_token: {MASK}"),
    ("token=abc", f"token={MASK}"),
    ('"token": "abc"', f'"token": "{MASK}"'),
    ("Settings(secret='abc', n=1)", f"Settings(secret='{MASK}', n=1)"),
    ('{"credentials": "abc"}', f'{{"credentials": "{MASK}"}}'),
]


@pytest.mark.parametrize(("text", "clean"), HIDDEN)
def test_secrets_are_known_by_their_looks(text: str, clean: str) -> None:
    """No one told the redactor about these; once clean, a text stays as it is."""
    assert Redactor().text(text) == clean
    assert Redactor().text(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The weather in Oslo is fine: 7 degrees, see https://example.org/a@b.",
        "unexpected token: } at line 3",
        "the secret: work hard",
        "basic authentication is off, bearer authentication on",
        "max_tokens=500 prompt_tokens: 7",
        '{"password": null, "api_key": false}',
        "password_file=/etc/x",
        "version 1.2.3 of a.b.c",
        "SUNNY DAYS AHEAD",
    ],
)
def test_harmless_texts_stay_as_they_are(text: str) -> None:
    """Redaction that eats what people need is switched off by them."""
    assert Redactor().text(text) == text


HOSTILE = [
    "a", "eyJ", "eyJ.", "a.", "://", "://a", "password=", 'password="', "password='\"", "password=\\", "\\", '"', "bearer ",
    "SU", "token: ", "authorization: ", "-----BEGIN PRIVATE KEY-----", "eyJaa.eyJ", "password token secret key ", "@",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_hostile_text_takes_linear_time(piece: str) -> None:
    """A quadratic pattern would need minutes for a million characters and run into the time-out."""
    redactor = told("password=\\x", "aaaaaaab")
    redactor.text(piece * (1_000_000 // len(piece)))
    redactor.text("password" + piece * (200_000 // len(piece)))


@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    """Never an error, and never a told secret left."""
    assert "swordfish" not in told("swordfish").text(f"{text}swordfish{text}")


def test_values_under_secret_names_are_masked() -> None:
    """At any depth, whatever their type; null and booleans say nothing and stay."""
    clean = Redactor().value(
        {
            "user": "one",
            "password": "hunter2",
            "nested": [{"apiKey": 12345, "clientSecret": {"a": "b"}, "X-Auth-Token": ["x"]}],
            "secret": None,
            "token": True,
            "max_tokens": 5,
        }
    )
    assert clean == {
        "user": "one",
        "password": MASK,
        "nested": [{"apiKey": MASK, "clientSecret": MASK, "X-Auth-Token": MASK}],
        "secret": None,
        "token": True,
        "max_tokens": 5,
    }


@pytest.mark.parametrize(
    "name",
    ["password", "DB_PASSWORD", "dbpassword", "Passwd", "passphrase", "client_secret", "clientSecret", "api_key", "apiKey",
     "x-api-key", "APIKEY", "access_key", "privateKey", "token", "authToken", "X-Auth-Token", "access_token",
     "Authorization", "proxy-authorization", "credential", "credentials", "cookie", "Set-Cookie", "nkey_seed", "userNkey", "seed", "pwd",
     "jwt", "auth"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    """However they are written."""
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "user", "tokens", "max_tokens", "token_count", "tokenizer", "author", "authorization_url", "key", "keyboard",
     "monkey", "monkey_count", "passenger", "sequence", "x" * 10_000, "é"],
)  # fmt: skip
def test_names_of_harmless_things(name: str) -> None:
    """Names that only look alike."""
    assert not is_secret_name(name)


def test_data_of_any_kind_becomes_json() -> None:
    """Bytes are decoded, other objects become their text, odd numbers become texts."""

    class Odd:
        def __str__(self) -> str:
            raise RuntimeError

    value = {
        1: b"caf\xc3\xa9 \xff",
        "path": Path("/x/swordfish"),
        "tuple": (1, 2.5, None, True),
        "set": {"one"},
        "error": ValueError("swordfish"),
        "odd": Odd(),
        "view": memoryview(b"ab"),
        "nan": math.nan,
        "infinity": -math.inf,
        "large": 1 << 5000,
        "small": 1 << 500,
        "deque": deque(["swordfish"]),
        ("swordfish", 1): OrderedDict(a=1),
    }
    clean = told("swordfish").value(value)
    json.dumps(clean, allow_nan=False)
    assert clean == {
        "1": "café \ufffd",
        "path": f"/x/{MASK}",
        "tuple": [1, 2.5, None, True],
        "set": ["one"],
        "error": f"ValueError: {MASK}",
        "odd": "[unprintable Odd]",
        "view": "ab",
        "nan": "nan",
        "infinity": "-inf",
        "large": "[integer of 5001 bits]",
        "small": 1 << 500,
        "deque": f"deque(['{MASK}'])",
        f"('{MASK}', 1)": {"a": 1},
    }


def test_what_contains_itself_is_cut() -> None:
    """Cycles end; the same object twice side by side is no cycle."""
    loop: list[Any] = [1]
    loop.append(loop)
    mapping: dict[str, Any] = {"loop": loop}
    mapping["self"] = mapping
    shared = ["x"]
    assert Redactor().value(mapping) == {"loop": [1, "[contains itself]"], "self": "[contains itself]"}
    assert Redactor().value([shared, shared]) == [["x"], ["x"]]


def test_what_is_too_deep_is_cut() -> None:
    """A thousand levels don't reach the interpreter's own limit."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert "[too deep]" in json.dumps(Redactor().value(deep))


@pytest.mark.parametrize(
    "value",
    [
        list(range(1_000_000)),
        {str(n): n for n in range(100_000)},
        {f"password{n}": n for n in range(100_000)},
        ["x" * 10_000] * 100_000,
        [[["x"] * 100] * 100] * 100,
        "x" * 50_000_000,
        b"x" * 50_000_000,
        {"x" * 1_000_000: "y" * 1_000_000},
    ],
    ids=["list", "mapping", "secrets", "texts", "nested", "text", "bytes", "key"],
)
def test_huge_values_are_cut_and_say_so(value: object) -> None:
    """The copy has a bounded size, however large the value is."""
    text = json.dumps(Redactor().value(value))
    assert len(text) < MAX_TOTAL_CHARS + MAX_TEXT_CHARS + 60 * MAX_ITEMS
    assert "[cut" in text


def test_a_cut_never_shows_half_a_secret() -> None:
    """A secret that lies across the cut is gone, wherever it lies."""
    secret = "swordfish" * 40
    for offset in range(MAX_TEXT_CHARS - 400, MAX_TEXT_CHARS + 4200, 97):
        clean = told(secret).clip("x" * offset + secret + "y" * 10_000)
        assert "swordfish" not in clean
        assert clean.endswith(f" [cut, {offset + len(secret) + 10_000} characters]")
    assert told(secret).clip("x" * (MAX_TEXT_CHARS + 1)).endswith(f" [cut, {MAX_TEXT_CHARS + 1} characters]")
    assert told(secret).clip("x" * MAX_TEXT_CHARS) == "x" * MAX_TEXT_CHARS


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_data_becomes_valid_json(value: object) -> None:
    """Never an error, and strict JSON comes out."""
    json.dumps(Redactor().value(value), allow_nan=False)
