"""Which of our environment variables a child gets."""

import os
from collections.abc import Mapping
from typing import Final

__all__ = ["executor_environment", "worker_environment"]

_NAMES: Final = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "VIRTUAL_ENV",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    }
)
_PREFIXES: Final = ("LC_", "PYTHON", "COVERAGE_")


def worker_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what a worker needs: it runs strangers' tools, so no secret of ours may be near it."""
    return {name: value for name, value in environment.items() if name in _NAMES or name.startswith(_PREFIXES)}


def executor_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return everything: agent files take `${VARIABLES}` from it."""
    return dict(environment)
