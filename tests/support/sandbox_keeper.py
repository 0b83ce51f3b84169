"""Run one keeper in a process of its own and print its report: `keep` starts this as a program.

A keeper kills every process below it, so it must not run inside the test process.
"""

import dataclasses
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolmesh_sandbox.keeper import Keeper
from toolmesh_sandbox.launch import Launch, Report
from toolmesh_sandbox.limits import Rlimit


def launch(argv: Sequence[str], wall_clock_s: float = 20, **changes: Any) -> Launch:
    """A plain launch of a command with an empty environment."""
    plain = Launch(
        program=argv[0],
        argv=tuple(argv),
        env={},
        cwd="/",
        uid=None,
        nice=0,
        rlimits=(),
        wall_clock_s=wall_clock_s,
        bwrap=False,
    )
    return dataclasses.replace(plain, **changes)


def keep(order: Launch, orders: Sequence[tuple[float, str]] = ()) -> tuple[Report, str]:
    """Run a launch under a keeper; returns its report and what the command printed.

    Args:
        order: what to launch.
        orders: pairs of seconds to wait and text to send on the control socket; an empty text closes it.
    """
    with tempfile.NamedTemporaryFile() as report:
        child = subprocess.run(
            [sys.executable, __file__, json.dumps(list(orders)), report.name],
            input=order.encode(),
            capture_output=True,
            timeout=50,
            check=False,
        )
        assert child.returncode == 0, child.stderr.decode()
        return Report.decode(report.read()), child.stdout.decode()


def _main() -> None:
    order = Launch.decode(sys.stdin.buffer.read())
    order = dataclasses.replace(order, rlimits=tuple(Rlimit(*limit) for limit in order.rlimits))
    mine, theirs = socket.socketpair()

    def command() -> None:
        for seconds, text in json.loads(sys.argv[1]):
            threading.Event().wait(seconds)
            if text:
                theirs.sendall(text.encode())
            else:
                theirs.close()

    sender = threading.Thread(target=command)
    sender.start()
    with mine, theirs:
        report = Keeper(mine, order, [os.open(os.devnull, os.O_RDONLY), os.dup(1), os.dup(1)]).run()
        sender.join()
    Path(sys.argv[2]).write_bytes(report.encode())


if __name__ == "__main__":
    _main()
