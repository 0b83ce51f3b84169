"""Show that the rows bite: how many succeed with no sandbox, and with a plain bubblewrap.

    python -m tests.attacks.comparison none|bare

Only root can start it, and no row runs as root: it makes throw-away pid, mount, network, uts and ipc namespaces, drops to
65532 under resource limits, and is killed after a minute. Rows that change or exhaust a machine, leave things behind or
hit the runner are never run without the whole sandbox; they are named below.
"""

import asyncio
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.attacks.rows import GIVEN, Row, read_rows
from tests.attacks.stage import staged

from toolmesh_sandbox.bwrap_binary import find_bwrap
from toolmesh_sandbox.published import publish_files, publish_tree

DANGEROUS = frozenset(
    [
        "A08",
        "A14",
        "A22",
        "F01",
        "F02",
        "F04",
        "G10",
        "G13",
        "D08",
        "D11",
        "D22",
        "D10",
        "E01",
        "E05",
        "E10",
        "E14",
        "E02",
        "E04",
        "B10",
        "E16",
        "D02",
        "D04",
        "D05",
        "D13",
        "D20",
        "F26",
        "E07",
        "E08",
        "F25",
        "B07",
        "B08",
        "A11",
        "A13",
        "D19",
        "E11",
    ]
)
"""Never run without the sandbox."""
_USER = 65532
_STOP_S = 60
_ROW_S = 6.0
_PYTHON = "/usr/bin/python3"
_LIMITS = {
    resource.RLIMIT_NPROC: 256,
    resource.RLIMIT_FSIZE: 64 << 20,
    resource.RLIMIT_CPU: 10,
    resource.RLIMIT_DATA: 1 << 30,
    resource.RLIMIT_NOFILE: 1024,
}
_SOURCES = Path(sys.modules["toolmesh_sandbox.published"].__file__ or "").parents[1]


def harmless_rows() -> list[Row]:
    """Tool rows that may run without the sandbox."""
    return [row for row in read_rows(GIVEN) if row["kind"] == "tool" and row["id"] not in DANGEROUS]


def escaped(way: str) -> list[str]:
    """Ids of the harmless rows that succeed with no sandbox (`none`) or a plain bubblewrap (`bare`)."""
    if os.getuid() != 0:
        raise PermissionError("making the throw-away namespaces needs root")
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="toolmesh-bites-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        here = Path(__file__).parent
        files = {f"tests/attacks/{path.name}": path for path in (*here.glob("*.py"), GIVEN)}
        tests = publish_files(files, folder, "attacks")
        sources = publish_tree(_SOURCES, folder, "src")
        scratch = folder / "scratch"
        scratch.mkdir()
        os.chown(scratch, _USER, _USER)
        namespaces = [
            "unshare",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount",
            "--mount-proc",
            "--net",
            "--uts",
            "--ipc",
        ]
        inner = [_PYTHON, "-B", "-m", "tests.attacks.comparison", way, str(scratch), str(find_bwrap(None, folder))]
        done = subprocess.run(
            [*namespaces, "--", *inner],
            cwd=tests,
            env={"PYTHONPATH": f"{tests}:{sources}", "PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_STOP_S,
            check=False,
        )
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode(errors="replace"))
    found: list[str] = json.loads(done.stdout)
    return found


async def _inside(way: str, scratch: Path, bwrap: str) -> list[str]:
    found = []
    async with staged(scratch) as stage:
        for row in harmless_rows():
            with stage.neighbour(os.getuid()) as pid:
                home, outbox = scratch / f"{row['id']}-work", scratch / f"{row['id']}-outbox"
                home.mkdir()
                outbox.mkdir()
                argv = [_PYTHON, "-c", stage.head(pid) + row["code"]]
                if way == "bare":
                    binds = [word for path in (home, outbox) for word in ("--bind", str(path), str(path))]
                    shown = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
                    argv = [bwrap, "--unshare-all", *shown, *binds, *argv]
                env = {"HOME": str(home), "TMPDIR": str(home), "VESSEL_OUTBOX": str(outbox), "LANG": "C.UTF-8"}
                said = await _output(argv, {**os.environ, **env}, scratch)
                if b"ESCAPED" in said or b"OK" in said or not Path(f"/proc/{pid}/exe").exists():  # noqa: ASYNC240
                    found.append(row["id"])
    return found


async def _output(argv: list[str], env: dict[str, str], folder: Path) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=env,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_ROW_S):
            said, _ = await process.communicate()
    except TimeoutError:
        return b""
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return said


def _drop() -> None:
    """Bring up loopback in the new network, then become the ordinary user for good."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS, IFF_UP | IFF_RUNNING
    for limit, value in _LIMITS.items():
        resource.setrlimit(limit, (value, value))
    os.setgroups([])
    os.setresgid(_USER, _USER, _USER)
    os.setresuid(_USER, _USER, _USER)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        ids = escaped(sys.argv[1])
        sys.stdout.write(f"{' '.join(ids)}\n{len(ids)} of {len(harmless_rows())} rows escape with {sys.argv[1]}\n")
    elif os.getpid() == 1:
        _drop()
        sys.stdout.write(json.dumps(asyncio.run(_inside(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))))
    else:
        sys.exit("usage: python -m tests.attacks.comparison none|bare")
