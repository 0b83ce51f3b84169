"""Which output files a run may have left unfinished."""

from collections.abc import Sequence
from typing import Final

from toolmesh_sandbox.outputs import OutputFile
from toolmesh_sandbox.process import Exit

__all__ = ["whole_files"]

_MEBIBYTE: Final = 1 << 20


def whole_files(
    files: Sequence[OutputFile], ended: Exit, *, failed: bool, largest_bytes: int
) -> tuple[list[OutputFile], list[str]]:
    """Return the files to keep, and notes on those that are not, or that may lack their end.

    A file of exactly the largest size was cut by the kernel, or just fits: of a failed run it is not kept.

    Args:
        files: What the run left.
        ended: How its process ended.
        failed: Whether its outcome is an error.
        largest_bytes: The sandbox's limit on one file.
    """
    limit = f"{largest_bytes // _MEBIBYTE} MiB, the limit of one file (max_file_size_mb)"
    kept, notes = [], []
    for file in files:
        if file.size < largest_bytes:
            kept.append(file)
        elif failed:
            notes.append(f"output file {file.name!r} was refused: it was cut at {limit}")
        else:
            kept.append(file)
            notes.append(f"output file {file.name!r} may be cut: it has {limit}")
    if kept and (ended.timed_out or ended.killed or ended.out_of_disk or ended.signal is not None):
        notes.append("the tool was ended before it was done: its output files may be incomplete")
    return kept, notes
