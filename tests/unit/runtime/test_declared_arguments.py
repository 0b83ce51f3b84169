"""Arguments of declared tools: what is refused before anything runs, and what a command gets."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.declared.call_arguments import RefusedArgumentsError, as_flags, as_json, read_arguments

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1]", "no JSON object"),
        ('"x"', "no JSON object"),
        ("null", "no JSON object"),
        ("5", "no JSON object"),
        ("", "no valid JSON"),
        ("{", "no valid JSON"),
        ('{"a":1}}', "no valid JSON"),
        ("not json", "no valid JSON"),
        ('{"a":1,"a":2}', "'a' is given twice"),
        ('{"a":{"b":1,"b":1}}', "'b' is given twice"),
        ('{"a":NaN}', "NaN is not JSON"),
        ('{"a":-Infinity}', "-Infinity is not JSON"),
        ('{"a":1e999}', "too large"),
        ('{"a":' + "9" * 5000 + "}", "no valid JSON"),
        ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
        ('\ufeff{"a":1}', "no valid JSON"),
    ],
)
@pytest.mark.requirement("declared:refusals")
def test_what_python_would_let_pass_is_refused(text: str, reason: str) -> None:
    """Each has its reason, and tells the model to call again with valid JSON."""
    with pytest.raises(RefusedArgumentsError, match="call the tool again with valid JSON") as caught:
        read_arguments(text.encode())

    assert reason in caught.value.message
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS


def test_bytes_that_are_no_text_are_refused() -> None:
    """Not an error of the worker."""
    with pytest.raises(RefusedArgumentsError):
        read_arguments(b'{"a":"\xff"}')


@given(st.dictionaries(st.text(max_size=5), _JSON, max_size=4))
def test_a_command_reads_what_the_model_wrote(arguments: dict[str, object]) -> None:
    """Any JSON object reaches stdin as the same value, written as `json.dumps` writes by default."""
    written = as_json(read_arguments(json.dumps(arguments).encode()))

    assert json.loads(written) == arguments
    assert written == json.dumps(arguments).encode()


def test_values_become_flags_in_the_calls_order() -> None:
    """Python's str() of each value."""
    arguments = read_arguments(b'{"b":true,"a":[1,"x"],"c":null,"d":1e22,"e":{"b":null},"f":"--help"}')

    flags = as_flags(arguments, dict.fromkeys("abcdef"))

    assert flags == ("--b=True", "--a=[1, 'x']", "--c=None", "--d=1e+22", "--e={'b': None}", "--f=--help")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"b":1}', "there is no argument 'b' (known: a)"),
        ('{"a":"x\\u0000y"}', "NUL"),
        ('{"a":"\\ud800"}', "lone surrogate"),
        (json.dumps({"a": "x" * 131_072}), "longer than 131071 bytes"),
    ],
)
@pytest.mark.requirement("declared:refusals")
def test_flags_that_no_command_line_can_hold_are_refused(text: str, reason: str) -> None:
    """Where an unguarded start would raise four kinds of errors."""
    with pytest.raises(RefusedArgumentsError) as caught:
        as_flags(read_arguments(text.encode()), {"a": {}})

    assert reason in caught.value.message


def test_many_long_flags_are_refused_together() -> None:
    """The system takes a limited number of bytes in all."""
    names: dict[str, object] = {f"a{number}": {} for number in range(9)}
    with pytest.raises(RefusedArgumentsError, match="together"):
        as_flags(dict.fromkeys(names, "x" * 130_000), names)


def test_the_longest_flag_is_taken() -> None:
    """One byte less than what is refused."""
    assert as_flags({"a": "x" * (131_071 - len("--a="))}, {"a": {}})
