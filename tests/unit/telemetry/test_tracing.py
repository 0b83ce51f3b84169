"""W3C trace context."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_telemetry.tracing import TraceParent, bound, child, trace_id_var

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
HEADER = f"00-{TRACE}-{SPAN}-01"


def test_a_header_is_read_and_written() -> None:
    """The example of the standard, there and back."""
    parsed = TraceParent.parse(HEADER)
    assert parsed == TraceParent(TRACE, SPAN, sampled=True)
    assert str(parsed) == HEADER
    assert str(TraceParent(TRACE, SPAN, sampled=False)) == f"00-{TRACE}-{SPAN}-00"


def test_unknown_flags_and_later_versions_are_understood() -> None:
    """Only the sampled bit counts; a later version may have more fields, and is answered in ours."""
    assert TraceParent.parse(f"00-{TRACE}-{SPAN}-fe") == TraceParent(TRACE, SPAN, sampled=False)
    for header in (f"01-{TRACE}-{SPAN}-03", f"cc-{TRACE}-{SPAN}-01-what-ever"):
        assert TraceParent.parse(header) == TraceParent(TRACE, SPAN, sampled=True)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        HEADER.upper(),
        HEADER + "-x",
        HEADER + "x",
        HEADER + "\n",
        " " + HEADER,
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"01-{TRACE}-{SPAN}-01-" + "x" * 600,
        f"00-{TRACE[:-1]}\u0665-{SPAN}-01",
    ],
)
def test_an_invalid_header_starts_a_new_trace(header: str | None) -> None:
    """As the standard asks: ignored, no error."""
    assert TraceParent.parse(header) is None
    assert child(header).trace_id not in (TRACE, "0" * 32)


def test_a_child_stays_in_its_trace() -> None:
    """Same trace, new span, same decision to record."""
    one = child(f"00-{TRACE}-{SPAN}-00")
    assert (one.trace_id, one.sampled) == (TRACE, False)
    assert one.span_id not in (SPAN, one.child().span_id)


def test_new_traces_are_valid_and_different() -> None:
    """What we send, we would accept."""
    one, two = TraceParent.new(), TraceParent.new()
    assert TraceParent.parse(str(one)) == one
    assert one.trace_id != two.trace_id


@given(st.text())
def test_no_text_crashes_the_parser(text: str) -> None:
    """Whatever a header holds."""
    assert TraceParent.parse(text) is None


async def test_the_trace_id_is_bound_for_one_task_only() -> None:
    """Two calls at once keep their own ids, tasks that they start inherit them, and afterwards there is none."""
    seen: dict[str, str | None] = {}
    both_bound = asyncio.Barrier(2)

    async def report(name: str) -> None:
        seen[name] = trace_id_var.get()

    async def call(name: str, trace: TraceParent) -> None:
        with bound(trace) as same:
            assert same is trace
            await both_bound.wait()
            async with asyncio.TaskGroup() as group:
                group.create_task(report(name))
        assert trace_id_var.get() is None

    one, two = TraceParent.new(), TraceParent.new()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(call("one", one))
        group.create_task(call("two", two))
    assert seen == {"one": one.trace_id, "two": two.trace_id}
    assert trace_id_var.get() is None
