"""What becomes of a call's arguments before its tool starts."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmesh_contracts.envelopes.catalog import ArtifactParameter
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_runtime.arguments.rules import ArgumentRules, InvalidArgumentsError

PROPERTIES: dict[str, Any] = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "truth": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "integer"}},
    "object": {"type": "object", "properties": {"n": {"type": "integer"}, "o": {"type": "string"}}, "required": ["n"]},
    "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "either": {"type": ["integer", "string"]},
    "choice": {"type": "string", "enum": ["a", "b"]},
    "pointed": {"$ref": "#/$defs/Pair"},
    "any": {},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": PROPERTIES,
    "$defs": {"Pair": {"type": "array", "items": {"type": "number"}, "maxItems": 2}},
}


def rules(schema: dict[str, Any] | None = None, *, strict: bool = False, **artifacts: Any) -> ArgumentRules:
    parameters = {name: ArtifactParameter(**info) for name, info in artifacts.items()}
    return ArgumentRules.of(SCHEMA if schema is None else schema, parameters, strict=strict)


def checked(sent: Any, schema: dict[str, Any] | None = None, **more: Any) -> Any:
    files = more.pop("files", {})
    return json.loads(rules(schema, **more).check("tool", json.dumps(sent).encode(), files).data)


def refusal(sent: Any, schema: dict[str, Any] | None = None, **more: Any) -> ToolmeshError:
    data = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    files = more.pop("files", {})
    with pytest.raises(ToolmeshError) as caught:
        rules(schema, **more).check("tool", data, files)
    return caught.value


@pytest.mark.parametrize(
    ("name", "sent", "arrives"),
    [
        ("whole", "5", 5),
        ("whole", " -7 ", -7),
        ("whole", "5.0", 5),
        ("whole", 5.0, 5),
        ("number", "1e3", 1000.0),
        ("number", "5", 5),
        ("number", 5, 5),
        ("truth", "True", True),
        ("truth", "0", False),
        ("truth", 1, True),
        ("text", 5, "5"),
        ("text", "5", "5"),
        ("list", "[1, 2]", [1, 2]),
        ("list", ["1", 2.0], [1, 2]),
        ("object", '{"n": "3"}', {"n": 3}),
        ("object", {"n": "3", "o": None}, {"n": 3}),
        ("maybe", "5", 5),
        ("maybe", None, None),
        ("either", "5", "5"),
        ("either", 5, 5),
        ("pointed", ["1.5", 2], [1.5, 2]),
        ("any", {"deep": ["5"]}, {"deep": ["5"]}),
    ],
)
@pytest.mark.requirement("process:arguments")
def test_value_is_converted_where_the_schema_leaves_no_doubt(name: str, sent: Any, arrives: Any) -> None:
    """Models send numbers as text, lists as JSON text and whole numbers with a point; strict programs need the type."""
    (value,) = checked({name: sent}).values()
    assert (value, type(value)) == (arrives, type(arrives))


@pytest.mark.parametrize(
    ("name", "sent", "says"),
    [
        ("whole", "five", 'whole: "five" is not of type "integer"'),
        ("whole", 5.5, 'whole: 5.5 is not of type "integer"'),
        ("whole", True, 'whole: true is not of type "integer"'),
        ("number", "nan", 'number: "nan" is not of type "number"'),
        ("truth", "yes", 'truth: "yes" is not of type "boolean"'),
        ("text", ["a"], 'text: ["a"] is not of type "string"'),
        ("list", [1, "x"], 'list[1]: "x" is not of type "integer"'),
        ("object", {"n": [1]}, 'object.n: [1] is not of type "integer"'),
        ("object", {}, 'object: "n" is a required property'),
        ("choice", "c", 'choice: "c" is not one of'),
        ("pointed", [1, 2, 3], "pointed: [1,2,3] has more than 2 items"),
    ],
)
@pytest.mark.requirement("process:arguments")
def test_value_that_can_not_be_meant_is_named(name: str, sent: Any, says: str) -> None:
    """The message has place, value and what is asked for; the hint lists what the tool takes."""
    error = refusal({name: sent})
    assert error.code is ErrorCode.INVALID_ARGUMENTS
    assert error.message.startswith(f"tool: {says}")
    assert error.hint.startswith("it takes: text, whole")


@pytest.mark.requirement("process:arguments")
def test_every_missing_argument_is_named_at_once() -> None:
    """A model then sends the next call right."""
    schema = {**SCHEMA, "required": ["text", "whole"]}
    assert refusal({}, schema).message == "tool: missing required arguments text, whole"
    assert refusal({"text": "x"}, schema).message == "tool: missing required argument whole"
    misspelt = "tool: missing required argument whole; unknown: 'wohle' (did you mean 'whole'?)"
    assert refusal({"text": "x", "wohle": 1}, schema).message == misspelt
    assert refusal({"text": "x"}, schema, strict=True).message == "tool: missing required argument whole"


@pytest.mark.requirement("process:arguments")
def test_null_for_an_optional_argument_means_absent() -> None:
    """Also where the tool would take null for a value of the wrong type; a required one stays and is named."""
    assert checked({"whole": None, "text": None, "maybe": None}) == {"maybe": None}
    error = refusal({"whole": None}, {**SCHEMA, "required": ["whole"]})
    assert 'null is not of type "integer"' in error.message


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"type": "object", "properties": {"x": {}}}, {"x": 1}),
        ({"type": "object", "properties": {}}, {}),
        ({"type": "object"}, {"x": 1, "y": 2}),
        ({"type": "object", "properties": {"x": {}}, "additionalProperties": True}, {"x": 1, "y": 2}),
        ({"type": "object", "properties": {"x": {}}, "patternProperties": {"^y": {}}}, {"x": 1, "y": 2}),
    ],
)
@pytest.mark.requirement("process:arguments")
def test_unknown_argument_is_left_out_with_a_note(schema: dict[str, Any], kept: dict[str, int]) -> None:
    """Unless the schema is open: then it may be meant."""
    answer = rules(schema).check("tool", b'{"x": 1, "y": 2}', {})
    assert json.loads(answer.data) == kept
    assert bool(answer.notes) == (kept != {"x": 1, "y": 2})
    if kept == {"x": 1}:
        assert answer.notes == ("tool has no argument 'y'; left out. it takes: x",)


def test_closed_schema_refuses_what_it_does_not_know() -> None:
    """An author who says `additionalProperties: false` gets it."""
    schema = {"type": "object", "properties": {"x": {}}, "additionalProperties": False}
    assert "'y' was unexpected" in refusal({"y": 1}, schema).message.replace('"', "'")


def test_arguments_that_fit_arrive_byte_for_byte() -> None:
    """Spelling of numbers and spaces is the caller's."""
    data = b'{ "number": 1.50, "text": "caf\\u00e9" }'
    assert rules().check("tool", data, {}).data == data


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"any": ' + b"[" * 70 + b"]" * 70 + b"}", "nested deeper than 64 levels"),
        (b'{"any": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "can't be used"),
        (b'{"any": 1e999}', "a number is too large"),
        (b'{"any": NaN}', "NaN is not JSON"),
        (b'{"any": ' + b"9" * 5000 + b"}", "Exceeds the limit"),
        (b"[1]", "no JSON object"),
        (b"null", "no JSON object"),
    ],
)
@pytest.mark.requirement("process:arguments")
def test_hostile_arguments_are_refused_in_bounds(data: bytes, says: str) -> None:
    """The worker looks no deeper than 64 levels, and never at a number without end."""
    error = refusal(data)
    assert error.code is ErrorCode.INVALID_ARGUMENTS
    assert says in error.message
    assert len(error.message) < 500


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": {"x": {"$ref": "#/properties/x"}}},
        {"properties": {"x": {"$ref": "#/$defs/nowhere"}}},
        {"properties": {"x": {"$ref": "file:///etc/passwd"}}},
        {"properties": {"x": {"$ref": "http://127.0.0.1:9/x.json"}}},
        {"properties": {"x": {"type": "no such type"}}},
        {"properties": {"x": {"pattern": "("}}},
        {"properties": "none", "required": "none"},
        {"type": "object", "anyOf": "none"},
    ],
)
def test_schema_that_is_odd_never_breaks_the_worker(schema: dict[str, Any]) -> None:
    """References in a ring or out of the schema, and what is no schema: the call goes on with what is left to check."""
    made = rules(schema)
    assert made.check("tool", b'{"x": "a"}', {}).data in {b'{"x": "a"}', b"{}"}


def test_unusable_schema_says_why() -> None:
    """For the operator's log."""
    assert "leads out of the schema" in rules({"$ref": "http://127.0.0.1:9/x.json"}).unusable
    assert rules().unusable == ""


def test_pattern_of_an_author_can_not_stop_the_worker() -> None:
    """A pattern that backtracks for ever on a value of a caller ends as a refusal."""
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(?=a)(a+)+\\1$"}}}
    assert "x" in refusal({"x": "a" * 5000 + "b"}, schema).message


@pytest.mark.requirement("process:arguments")
def test_strict_rules_leave_values_alone() -> None:
    """Under `compat: strict` only what is missing is refused, as the published host does it."""
    sent = {"whole": "5", "truth": None, "unknown": [1]}
    assert checked(sent, strict=True) == sent


FILES = {"doc": "a.txt", "docs[0]": "b.txt", "docs[1]": "c.txt"}


def test_artifacts_that_came_along_fill_their_arguments() -> None:
    """A caller who gives files need not repeat their names; one name where a list is asked for is a list of one."""
    schema = {
        "type": "object",
        "properties": {"doc": {"type": "string"}, "docs": {"type": "array", "items": {"type": "string"}}},
        "required": ["doc", "docs"],
    }
    artifacts = {"doc": {}, "docs": {"is_list": True}}
    assert checked({}, schema, files=FILES, **artifacts) == {"doc": "a.txt", "docs": ["b.txt", "c.txt"]}
    assert checked({"docs": "b.txt", "doc": "a.txt"}, schema, files=FILES, **artifacts)["docs"] == ["b.txt"]


@pytest.mark.requirement("process:arguments")
def test_artifact_that_did_not_come_along_is_refused() -> None:
    """Otherwise the tool would take the file's name for its content; each form of naming one is looked at."""
    schema = {"type": "object", "properties": {"doc": {}, "docs": {}, "rows": {}}}
    artifacts = {"doc": {}, "docs": {"is_list": True, "is_optional": True}, "rows": {"filename_key": "file"}}
    for sent, key in (
        ({"doc": "gone.txt"}, "doc"),
        ({"docs": ["b.txt", "c.txt", "gone.txt"]}, "docs[2]"),
        ({"rows": [{"file": "gone.txt"}]}, "rows[0]"),
    ):
        error = refusal(sent, schema, files={k: v for k, v in FILES.items() if k != "doc"}, **artifacts)
        assert error.code is ErrorCode.ARTIFACT_ERROR
        assert error.message == f"tool: artifact 'gone.txt' of argument '{key}' did not come with the call"
    assert checked({"rows": [{"text": "no file"}]}, schema, **artifacts) == {"rows": [{"text": "no file"}]}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from([*PROPERTIES, "unknown"]), VALUES, max_size=5))
@pytest.mark.requirement("process:arguments")
def test_checked_arguments_are_valid_or_refused(sent: dict[str, Any]) -> None:
    """Whatever is sent: it arrives as the schema says, and arrives the same when checked again; or it is refused."""
    made = rules()
    try:
        first = made.check("tool", json.dumps(sent).encode(), {})
    except InvalidArgumentsError:
        return
    again = made.check("tool", first.data, {})
    assert (again.data, again.notes) == (first.data, ())
