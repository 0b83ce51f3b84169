"""What `up` shows of toolsets that change under it."""

import io

from toolmesh_cli.output_lines import parse_line
from toolmesh_cli.terminal import Terminal
from toolmesh_cli.toolset_changes import ToolsetChanges


def test_a_change_is_shown_once_for_all_workers_and_again_when_it_happens_again() -> None:
    """Three workers read the same files; the second time a tool breaks the same way is news too."""
    shown = io.StringIO()
    changes = ToolsetChanges(Terminal(shown, {}))
    for _ in range(2):
        for worker in ("worker-1", "worker-2", "worker-3"):
            changes.tell(worker, "greet not reloaded: line 4")
    changes.tell("worker-2", "greet reloaded, version 0123")
    assert shown.getvalue().splitlines() == [
        "reload     greet not reloaded: line 4",
        "reload     greet not reloaded: line 4",
        "reload     greet reloaded, version 0123",
    ]


def test_a_change_is_read_from_a_workers_log() -> None:
    """The field of the event; other lines have none."""
    assert parse_line(b'{"level": "info", "event": "toolset change", "change": "a is served"}').change == "a is served"
    assert parse_line(b'{"level": "info", "event": "ready"}').change == ""
