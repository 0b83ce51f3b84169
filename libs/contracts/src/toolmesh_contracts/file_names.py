"""Names of local files as messages carry them."""

import os
from pathlib import Path

__all__ = ["file_name"]


def file_name(path: Path) -> str:
    """Return the file's name without folders; what is no UTF-8 in it, which no message can carry, becomes U+FFFD."""
    return os.fsencode(path.name).decode(errors="replace")
