"""A worker without fencing: it takes a dead worker's call as one that was never run. To show that the harness notices."""

import socket
from pathlib import Path

from tests.load.chaos import worker_program
from tests.protocol.broken import ForgetfulLedger

from toolmesh_runtime import app

__all__ = ["main"]


def main(order: Path, control: socket.socket) -> None:
    """Run as the real one does, with another ledger."""
    app.Ledger = ForgetfulLedger  # type: ignore[attr-defined]  # what is broken on purpose
    worker_program.main(order, control)
