"""Outputs end up where the tool asked for, and none is lost or counted twice."""

from toolmesh_runtime.process.output_files import INDEX_FILE, read_index, sort_outputs
from toolmesh_runtime.process.result_envelope import DataObject


def unread(name: str) -> bytes | None:
    """No file is a short text."""


def test_small_text_goes_inline_and_the_rest_is_stored() -> None:
    """`auto` is inline up to 4 KiB of text; binary, large and `artifact` outputs are stored."""
    outputs = sort_outputs(
        [
            DataObject("small.txt", b"x", "text/plain", "auto"),
            DataObject("large.txt", b"x" * 5000, "text/plain", "auto"),
            DataObject("b.bin", b"\x00", "application/octet-stream", "auto", is_text=False),
            DataObject("kept.txt", b"x", "text/plain", "artifact"),
            DataObject("odd.txt", b"x", "text/plain", "whatever"),
        ],
        [],
        {},
        unread,
    )
    assert [item.name for item in outputs.inline] == ["small.txt"]
    assert [item.name for item in outputs.files] == ["large.txt", "b.bin", "kept.txt", "odd.txt"]


def test_short_text_goes_inline_from_the_folder_too() -> None:
    """Python's SDKs write every `auto` object there: the index, or the object itself, says that it is one."""
    outputs = sort_outputs(
        [DataObject("go.txt", None, "text/x-go", "auto")],
        ["go.txt", "short.txt", "long.txt", "plain.txt"],
        {
            "short.txt": {"disposition": "auto", "mime_type": "text/x-short", "description": "d"},
            "long.txt": {"disposition": "auto"},
        },
        {"go.txt": b"1", "short.txt": b"2", "plain.txt": b"3"}.get,
    )
    assert [(item.name, item.mime_type, item.content, item.description) for item in outputs.inline] == [
        ("go.txt", "text/x-go", b"1", None),
        ("short.txt", "text/x-short", b"2", "d"),
    ]
    assert [item.name for item in outputs.files] == ["long.txt", "plain.txt"]


def test_long_inline_text_is_cut_with_a_note() -> None:
    """Inline text over 8,192 characters is cut, and said."""
    outputs = sort_outputs([DataObject("t", b"x" * 9000, "text/plain", "inline")], [], {}, unread)
    assert len(outputs.inline[0].content) == 8192
    assert "9000" in outputs.notes[0]


def test_file_keeps_what_its_object_or_the_index_says() -> None:
    """A file named by an object without content takes its type; others take the index's or the ending's."""
    outputs = sort_outputs(
        [
            DataObject("a.dat", None, "text/csv", "artifact", description="d"),
            DataObject("gone", None, "x/y", "artifact"),
        ],
        ["a.dat", "b.png", "c.xyz", INDEX_FILE],
        {"c.xyz": {"mime_type": "chemical/x-xyz", "description": "molecule", "metadata": {"n": 1}, "preview": 7}},
        unread,
    )
    assert [(item.name, item.mime_type, item.description) for item in outputs.files] == [
        ("a.dat", "text/csv", "d"),
        ("b.png", "image/png", None),
        ("c.xyz", "chemical/x-xyz", "molecule"),
    ]
    assert "gone" in outputs.notes[0]


def test_output_given_twice_is_kept_once() -> None:
    """The file wins over an object of the same name, with a note."""
    outputs = sort_outputs([DataObject("a", b"1", "t/t", "artifact")], ["a"], {}, unread)
    assert len(outputs.files) == 1
    assert outputs.files[0].content is None
    assert "twice" in outputs.notes[0]


def test_malformed_index_counts_as_absent() -> None:
    """A tool may write anything into the index."""
    assert read_index(b"{") == read_index(b"[]") == read_index(b'{"a": 1}') == {}
