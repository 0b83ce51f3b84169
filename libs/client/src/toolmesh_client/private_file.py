"""Files that only their owner reads, replaced whole or not at all."""

import os
import tempfile
from pathlib import Path

__all__ = ["replace_private_file"]


def replace_private_file(path: Path, content: bytes) -> None:
    """Write a file with mode 0600; whoever reads it meanwhile sees all of the old or all of the new content.

    Raises:
        OSError: it can't be written; then the old one is still there, and nothing else.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
