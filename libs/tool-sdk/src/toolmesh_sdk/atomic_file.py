"""Writing a file so that a reader sees all of it or nothing."""

from __future__ import annotations

import os


def write_atomically(path: str, content: bytes) -> None:
    """Write beside the target and rename over it, mode 0600.

    Raises:
        OSError: The file cannot be written; nothing half-written is left behind.
    """
    draft = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)
        os.replace(draft, path)  # noqa: PTH105 - pathlib's import costs 3 ms
    except BaseException:
        os.unlink(draft)  # noqa: PTH108 - pathlib's import costs 3 ms
        raise
