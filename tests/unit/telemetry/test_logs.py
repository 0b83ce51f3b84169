"""JSON log lines."""

import io
import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog

from toolmesh_telemetry.logs import LoggingSetup, configure_logging, get_logger
from toolmesh_telemetry.redaction import Redactor
from toolmesh_telemetry.secret_patterns import MASK
from toolmesh_telemetry.tracing import TraceParent, bound


class Console(io.StringIO):
    """A stream that gives its lines back as parsed JSON."""

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.getvalue().splitlines()]

    @property
    def line(self) -> dict[str, Any]:
        (line,) = self.lines
        return line


def logging_to(console: io.StringIO, redactor: Redactor | None = None, level: int | str = "INFO") -> LoggingSetup:
    return configure_logging("worker", "worker-1", stream=console, redactor=redactor, level=level)


def test_a_structured_record_is_one_json_line() -> None:
    """Every line says when, what, and who; then the fields."""
    console = Console()
    with logging_to(console):
        get_logger("toolmesh.test").bind(tool="forecast").info("call done", wall_ms=12, scopes=["a:b:c"])
    line = console.line
    assert datetime.now(UTC) - datetime.fromisoformat(line.pop("ts")) < timedelta(minutes=1)
    assert line == {
        "level": "info",
        "logger": "toolmesh.test",
        "event": "call done",
        "service": "worker",
        "instance": "worker-1",
        "tool": "forecast",
        "wall_ms": 12,
        "scopes": ["a:b:c"],
    }


def test_records_of_other_libraries_come_out_the_same_way() -> None:
    """Plain logging with arguments."""
    console = Console()
    with logging_to(console):
        logging.getLogger("nats").warning("lost %s after %d s", "broker", 3)
    assert (console.line["level"], console.line["logger"], console.line["event"]) == (
        "warning",
        "nats",
        "lost broker after 3 s",
    )


def test_our_loggers_take_arguments_too() -> None:
    """And a bare percent sign is no format."""
    console = Console()
    with logging_to(console):
        get_logger("x").info("%d of %d", 1, 2)
        get_logger("x").info("100% done")
    assert [line["event"] for line in console.lines] == ["1 of 2", "100% done"]


def test_the_level_is_respected() -> None:
    """What is below is not written, by either kind of logger."""
    console = Console()
    with logging_to(console, level="WARNING"):
        get_logger("x").info("quiet")
        logging.getLogger("y").info("quiet")
        get_logger("x").error("loud")
    assert console.line["event"] == "loud"


def test_a_line_carries_the_trace_of_its_call() -> None:
    """Also on records of other libraries; outside a call there is none."""
    console = Console()
    trace = TraceParent.new()
    with logging_to(console):
        with bound(trace):
            get_logger("x").info("one")
            logging.getLogger("y").info("two")
        get_logger("x").info("three")
    assert [line.get("trace_id") for line in console.lines] == [trace.trace_id, trace.trace_id, None]


def test_bound_context_variables_are_fields() -> None:
    """What structlog's own context holds is on every line of either kind."""
    console = Console()
    with logging_to(console), structlog.contextvars.bound_contextvars(invocation="0190-1"):
        get_logger("x").info("one")
        logging.getLogger("y").info("two")
    assert [line["invocation"] for line in console.lines] == ["0190-1", "0190-1"]


def test_a_field_never_hides_a_standard_one() -> None:
    """A field of such a name is kept under another."""
    console = Console()
    with logging_to(console):
        get_logger("real").info("x", level="fake", service="fake", ts=0, trace_id="fake", name="kept", message="kept")
    line = console.line
    assert (line["level"], line["service"], line["logger"]) == ("info", "worker", "real")
    assert (line["field_level"], line["field_service"], line["field_ts"], line["field_trace_id"]) == (
        "fake",
        "fake",
        0,
        "fake",
    )
    assert (line["name"], line["message"]) == ("kept", "kept")


def fail(error: BaseException, cause: BaseException | None = None) -> None:
    raise error from cause


def test_secrets_stay_out_of_every_part_of_a_line() -> None:
    """Event, arguments, fields, exception and its traceback."""
    console = Console()
    redactor = Redactor()
    with logging_to(console, redactor), redactor.hiding(["swordfish"]):
        get_logger("x").info("event swordfish", text="a swordfish", password="other", deep={"k": ["swordfish"]})
        logging.getLogger("y").info("login with %s", "swordfish")
        try:
            fail(ValueError("swordfish"))
        except ValueError as error:
            try:
                fail(RuntimeError("nats://me:sword@fish"), error)
            except RuntimeError:
                get_logger("x").exception("failed", stack_info=True)
    assert "swordfish" not in console.getvalue()
    assert "sword@fish" not in console.getvalue()
    assert console.lines[0]["password"] == MASK
    exception = console.lines[2]["exception"]
    assert (exception["type"], exception["message"]) == ("RuntimeError", f"nats://{MASK}@fish")
    assert f"ValueError: {MASK}" in exception["traceback"]
    assert "test_logs.py" in exception["traceback"]
    assert "test_logs.py" in console.lines[2]["stack"]


def test_exceptions_of_other_libraries_are_structured_too() -> None:
    """Whether given as a flag or as an object; without one there is no empty entry."""
    console = Console()
    with logging_to(console):
        try:
            fail(KeyError("x"))
        except KeyError as error:
            logging.getLogger("y").exception("one")
            caught = error
        logging.getLogger("y").error("two", exc_info=caught)
        logging.getLogger("y").error("three", exc_info=True)  # noqa: LOG014 - what careless libraries do
    assert [line.get("exception", {}).get("type") for line in console.lines] == ["KeyError", "KeyError", None]


def test_one_record_is_one_line_whatever_it_holds() -> None:
    """Line ends, terminal codes, lone surrogates and other alphabets can't forge or break a line."""
    console = Console()
    text = 'a\nb\r\n\u2028{"event": "forged"} \x1b[31m \ud800 ö'
    with logging_to(console):
        get_logger("x").info(text, field=text)
    assert len(console.getvalue().splitlines()) == 1
    assert console.getvalue().isascii()
    assert (console.line["event"], console.line["field"]) == (text, text)


class Unprintable:
    """An object that can't be shown."""

    def __str__(self) -> str:
        raise RuntimeError("swordfish")

    __repr__ = __str__


class UnprintableError(Exception):
    """An error that can't be shown."""

    def __str__(self) -> str:
        raise RuntimeError("swordfish")


class Unreadable(dict[str, object]):
    """A mapping that can't be read."""

    def items(self) -> Any:
        raise RuntimeError("swordfish")


def test_nothing_that_is_logged_can_raise() -> None:
    """Each record comes out as a line that says as much as can be said."""
    console = Console()
    with logging_to(console):
        logging.getLogger("y").info("%d and %d", "one")  # noqa: PLE1206 - the mistake is the test
        get_logger("x").info("fields", a=Unprintable(), b=1 << 100_000, c=float("nan"))
        get_logger("x").info("reading", a=Unreadable(b=1))
        logging.getLogger("y").info(Unprintable())
        try:
            fail(UnprintableError())
        except UnprintableError:
            logging.getLogger("y").exception("failed")
    events = [line["event"] for line in console.lines]
    unwritable = "log record can't be written"
    assert events == ["%d and %d (with arguments that don't fit)", "fields", unwritable, unwritable, "failed"]
    assert console.lines[1]["a"] == "[unprintable Unprintable]"
    assert console.lines[2]["error"] == "RuntimeError"
    assert console.lines[4]["exception"]["message"] == "[unprintable]"
    assert "swordfish" not in console.getvalue()


def test_a_huge_record_is_cut() -> None:
    """One line stays small enough for whatever collects it."""
    console = Console()
    with logging_to(console):
        get_logger("x").info("e" * 10_000_000, field=["f" * 100_000] * 1000)
    assert len(console.getvalue()) < 400_000
    assert "[cut, 10000000 characters]" in console.line["event"]


def test_a_stream_that_is_gone_loses_lines_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed pipe, a full disk or no console at all never stops a call."""

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    closed = io.StringIO()
    closed.close()
    for stream in (closed, Full()):
        with logging_to(stream):
            get_logger("x").info("lost")
    monkeypatch.setattr("sys.stderr", None)
    with configure_logging("worker", "worker-1"):
        get_logger("x").info("lost")


def test_the_default_stream_is_stderr_as_it_is_when_writing(capsys: pytest.CaptureFixture[str]) -> None:
    """And stdout stays free for results."""
    with configure_logging("worker", "worker-1"):
        get_logger("x").info("here")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert json.loads(captured.err)["event"] == "here"


def test_configuring_twice_writes_once() -> None:
    """The second set-up replaces the first; each restore brings back what was before it."""
    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    first, second = Console(), Console()
    outer = logging_to(first)
    inner = logging_to(second, level="DEBUG")
    get_logger("x").debug("one")
    inner.restore()
    inner.restore()
    get_logger("x").info("two")
    outer.restore()
    assert [line["event"] for line in second.lines] == ["one"]
    assert [line["event"] for line in first.lines] == ["two"]
    assert (list(root.handlers), root.level) == before


def test_restoring_out_of_order_changes_nothing() -> None:
    """A set-up that was replaced meanwhile doesn't take its successor down."""
    console = Console()
    first = logging_to(Console())
    with logging_to(console):
        first.restore()
        get_logger("x").info("still here")
    assert console.line["event"] == "still here"
    first.restore()
