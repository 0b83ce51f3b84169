"""A descriptor that is handed to one command: always number 3, and in no other sandbox."""

import dataclasses
import socket
from pathlib import Path

import pytest
from tests.support.sandboxes import ENVIRONMENT, PYTHON, policy_with, sandbox

from toolmesh_sandbox.launch import CONNECTION
from toolmesh_sandbox.policy import WORKSPACE_INSIDE

TALK = "import socket; s = socket.socket(fileno=3); s.send(b'from inside'); print(s.recv(16).decode())"
LOOK = (
    "import os\nfor number in range(3, 64):\n    try: print(number, os.fstat(number).st_mode)\n    except OSError: pass"
)


@pytest.mark.parametrize(
    ("mode", "name"),
    [("bwrap", "standard"), ("bwrap", "declared"), ("prlimit-only", "standard"), ("direct", "standard")],
)
async def test_connection_is_handed_to_one_command_and_to_no_other(base: Path, mode: str, name: str) -> None:
    """It works both ways under every backend, while commands beside it and after it have no descriptor but three."""
    policy = dataclasses.replace(policy_with(name), folder=WORKSPACE_INSIDE)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        async with sandbox(base, mode, [name]) as backend, backend.workspace(policy) as workspace:
            given = theirs.fileno()
            talk = backend.start([PYTHON, "-c", TALK], ENVIRONMENT, policy, workspace, connection=given)
            look = [PYTHON, "-c", LOOK]
            async with talk as talking, backend.start(look, ENVIRONMENT, policy, workspace) as beside:
                alone = await beside.wait()
                ours.send(b"from outside")
                talked = await talking.wait()
            async with backend.start(look, ENVIRONMENT, policy, workspace) as after:
                later = await after.wait()
        assert CONNECTION == 3
        assert talked.stdout == b"from outside\n", talked
        assert ours.recv(16) == b"from inside"
    assert (alone.code, alone.stdout, later.code, later.stdout) == (0, b"", 0, b""), alone
