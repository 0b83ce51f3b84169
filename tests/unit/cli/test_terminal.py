"""What is written for a person."""

import io
import os

import pytest

from toolmesh_cli.failures import OutputLostError
from toolmesh_cli.terminal import Colour, Terminal, visible


class _TerminalStream(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, größer 日本", "plain, größer 日本"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("title\x1b]0;owned\x07", r"title\x1b]0;owned\x07"),
        ("back\rspace\b", r"back\rspace\x08"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
    ],
)
def test_a_tools_text_can_not_drive_the_terminal(text: str, shown: str) -> None:
    """Control and direction characters become visible; everything else stays."""
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("stream", "environment", "coloured"),
    [
        (_TerminalStream(), {}, True),
        (_TerminalStream(), {"NO_COLOR": "1"}, False),
        (_TerminalStream(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colours_only_on_a_terminal_that_wants_them(
    stream: io.StringIO, environment: dict[str, str], coloured: bool
) -> None:
    """NO_COLOR, a dumb terminal and a pipe all get plain text."""
    terminal = Terminal(stream, environment)

    assert (terminal.paint("x", Colour.GOOD) != "x") is coloured


def test_an_error_has_its_code_and_a_hint() -> None:
    """The two lines a script and a person look for."""
    stream = io.StringIO()

    Terminal(stream, {}).error("TOOL_NOT_FOUND", "no tool 'x'", "see: toolmesh tools list")

    assert stream.getvalue() == "error [TOOL_NOT_FOUND]: no tool 'x'\nhint: see: toolmesh tools list\n"


def test_a_terminal_that_was_closed_stops_no_work() -> None:
    """Lines of progress are dropped; a result that can't be shown is an error, once."""
    for must_arrive in (False, True):
        controlling, terminal_side = os.openpty()
        with os.fdopen(terminal_side, "w") as stream:
            terminal = Terminal(stream, {}, must_arrive=must_arrive)
            terminal.line("heard")
            os.close(controlling)
            if must_arrive:
                with pytest.raises(OutputLostError):
                    terminal.line("lost")
            terminal.line("dropped")


def test_only_a_terminal_ends_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe or a file takes lines of any length, whatever COLUMNS says."""
    monkeypatch.setenv("COLUMNS", "60")
    assert Terminal(_TerminalStream()).width == 60
    assert Terminal(io.StringIO()).width is None
