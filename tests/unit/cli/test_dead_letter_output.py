"""The list shows nothing of what a caller gave; one letter is shown whole but for its secrets, and drives no terminal."""

import io
import json

import msgspec
from tests.support.signed_calls import invocation

from toolmesh_broker.dead_letters import KeptLetter
from toolmesh_cli.dead_letter_output import letter_document, list_lines, summary_document, whole_lines
from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.task import DeadLetter
from toolmesh_contracts.errors import ErrorCode

CALL = invocation(arguments=msgspec.Raw(b'{"pin": "1234"}'), sealed_config="BOX", tool="pay")
TERMINAL = Terminal(io.StringIO())


def kept(call: Invocation | None, body: bytes | None = None, reason: str = "no\x1b[2J scope") -> KeptLetter:
    """A letter."""
    letter = DeadLetter(
        pool="default",
        subject="s",
        stream_sequence=1,
        code=ErrorCode.PERMISSION_DENIED,
        reason=reason,
        at_ms=1_800_000_000_000,
        invocation=call,
        body=body,
    )
    return KeptLetter(call.id if call else "unknown-1", "default", 1, letter)


def test_list_has_the_reason_and_nothing_that_the_caller_gave() -> None:
    """Neither as lines nor as a document."""
    lines = "\n".join(list_lines([kept(CALL)], TERMINAL))
    document = json.dumps(summary_document(kept(CALL)))
    for shown in (lines, document):
        assert CALL.id in shown
        assert "pay" in shown
        assert "1234" not in shown
        assert "BOX" not in shown
    assert "2027-01-15T08:00:00Z" in lines
    assert "\x1b" not in lines


def test_one_letter_is_shown_without_its_secrets() -> None:
    """Arguments are there, the sealed box is not, and control characters are written out."""
    lines = "\n".join(whole_lines([kept(CALL)], TERMINAL))
    document = letter_document(kept(CALL))
    assert "1234" in lines
    assert document["invocation"]["arguments"] == {"pin": "1234"}
    for shown in (lines, json.dumps(document)):
        assert "BOX" not in shown
        assert "sealed to the pool" in shown
    assert "\x1b" not in lines


def test_message_that_could_not_be_read_is_shown_as_it_came() -> None:
    """As text for a person, in base64 for a program."""
    unread = kept(None, b"\xffjunk")
    assert "5 bytes: \ufffdjunk" in "\n".join(whole_lines([unread], TERMINAL))
    assert letter_document(unread)["body_base64"] == "/2p1bms="
    assert "unknown-1" in "\n".join(list_lines([unread], TERMINAL))


def test_arguments_that_are_no_json_are_shown_as_text() -> None:
    """A hostile caller's bytes must not keep an operator from looking at them."""
    broken = msgspec.structs.replace(CALL, arguments=msgspec.Raw(b'{"a": 1.2.3}'))
    assert "1.2.3" in letter_document(kept(broken))["invocation"]


def test_several_letters_of_one_call_are_numbered() -> None:
    """In the order in which they are given, an empty line between them; a single one has no number."""
    lines = whole_lines([kept(CALL, reason="first"), kept(CALL, reason="second")], TERMINAL)
    assert [line for line in lines if line.startswith("letter")] == ["letter 1 of 2", "letter 2 of 2"]
    assert lines.count("") == 1
    assert lines[0] == "letter 1 of 2"
    assert "first" in "".join(lines[: lines.index("")])
    assert "second" in "".join(lines[lines.index("") :])
    assert not any(line.startswith("letter") for line in whole_lines([kept(CALL)], TERMINAL))
