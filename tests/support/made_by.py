"""Names that tell which process made a thing that the kernel keeps, so that what a killed one has left is known."""

import os
import re
import secrets
from pathlib import Path

_NAME = re.compile(r"toolmesh-(\d+)-[0-9a-f]{6}")


def made_by_this_process() -> str:
    """Return a name that is unique on this machine."""
    return f"toolmesh-{os.getpid()}-{secrets.token_hex(3)}"


def maker_is_gone(name: str) -> bool:
    """Whether `name` begins with one that `made_by_this_process` gave to a process that has ended."""
    found = _NAME.match(name)
    return found is not None and not Path(f"/proc/{found[1]}").exists()
