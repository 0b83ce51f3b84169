"""What lies around a worker for its tools to get at: secrets, processes, listeners, keys. All of it loopback or local."""

import asyncio
import contextlib
import ctypes
import os
import secrets
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from toolmesh_sandbox.base_folder import open_base
from toolmesh_sandbox.policy import Mount
from toolmesh_sandbox.published import publish_tree

GREETING = b'INFO {"server_id":"STX_CANARY"}\r\n'
_SHMGET, _SHMCTL, _ADD_KEY = (29, 31, 248) if os.uname().machine == "x86_64" else (194, 195, 217)
_IPC_CREAT, _IPC_RMID = 0o1000, 0
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The names that rows know, and the folders that their sandbox shows."""

    folder: Path
    port: int
    socket_path: Path
    abstract: str
    shm_key: int
    shm_file: str
    other_workspace: Path
    mounts: tuple[Mount, ...]

    def head(self, host_pid: int, secret: Path) -> str:
        """The line that goes before a row's code."""
        names = {
            "HOST_PID": host_pid,
            "NATS_PORT": self.port,
            "SECRET": str(secret),
            "HOST_SOCK": str(self.socket_path),
            "SHMKEY": self.shm_key,
            "OTHER_WS": str(self.other_workspace),
            "ABS": self.abstract,
            "SHMF": self.shm_file,
        }
        return ";".join(f"{name}={value!r}" for name, value in names.items()) + "\n"

    @contextmanager
    def secret(self, uid: int | None) -> Iterator[Path]:
        """A file with a canary that belongs to the user of one call, held open by an inheritable descriptor."""
        path = self.folder / f"secret-{secrets.token_hex(4)}"
        path.write_text("STX_CANARY file")
        path.chmod(0o600)
        if uid is not None:
            os.chown(path, uid, uid)
        descriptor = os.open(path, os.O_RDONLY)
        os.set_inheritable(descriptor, True)
        try:
            yield path
        finally:
            os.close(descriptor)
            path.unlink()

    @contextmanager
    def neighbour(self, uid: int | None) -> Iterator[int]:
        """A process of the user of one call, which no tool may touch; its pid."""
        command = ["stx_canary_proc", "-c", "import time;time.sleep(3000)"]
        process = subprocess.Popen(
            command,
            executable="/usr/bin/python3",
            env={},
            stdin=subprocess.DEVNULL,
            **({} if uid is None else {"user": uid, "group": uid, "extra_groups": []}),  # type: ignore[call-overload]
        )
        try:
            yield process.pid
        finally:
            process.kill()
            process.wait()


@asynccontextmanager
async def staged(base: Path) -> AsyncIterator[Stage]:
    """Set everything up below a throw-away folder, and remove it."""
    os.environ["STX_TEST_KEY"] = "STX_CANARY_secret_value"
    async with AsyncExitStack() as stack:
        open_base(base)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=base, prefix="stage-"))) / "run_host"
        folder.mkdir()
        for path in (folder.parent, folder):
            path.chmod(0o755)
        sockets = [("tcp", await _tcp()), ("path", await _unix(str(folder / "host.sock")))]
        abstract = f"stx-{secrets.token_hex(6)}"
        sockets.append(("abstract", await _unix(f"\0{abstract}")))
        for _name, server in sockets:
            stack.push_async_callback(_closed, server)
        (folder / "host.sock").chmod(0o777)
        key = secrets.randbelow(2**30) + 1
        stack.enter_context(_shared_memory(key))
        shm_file = f"stx-{secrets.token_hex(6)}"
        stack.enter_context(_shm_file(shm_file))
        _add_keys()
        other = folder / "other-call"
        other.mkdir()
        (other / "s").write_text("STX_CANARY of another call")
        yield Stage(
            folder=folder,
            port=sockets[0][1].sockets[0].getsockname()[1],
            socket_path=folder / "host.sock",
            abstract=abstract,
            shm_key=key,
            shm_file=shm_file,
            other_workspace=other,
            mounts=_mounts(folder, base),
        )


def _mounts(folder: Path, base: Path) -> tuple[Mount, ...]:
    """What the tool may read, published as the product does it: by digest, so that no path of the host is told."""
    mounts = []
    for name, file, content, target in (
        ("package", "tool.py", "print(1)\n", "/agent"),
        ("workdir", "doc.txt", "x", "/data"),
        ("data", "blob.bin", "x", "/mnt/data"),
    ):
        (folder / name).mkdir()
        (folder / name / file).write_text(content)
        mounts.append(Mount(publish_tree(folder / name, base, "attack"), PurePosixPath(target)))
    return tuple(mounts)


async def _greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        writer.write(GREETING)
        await writer.drain()
    writer.close()


async def _tcp() -> asyncio.Server:
    return await asyncio.start_server(_greet, "127.0.0.1", 0)


async def _unix(path: str) -> asyncio.Server:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    return await asyncio.start_unix_server(_greet, sock=listener)


async def _closed(server: asyncio.Server) -> None:
    server.close()
    await server.wait_closed()


@contextmanager
def _shared_memory(key: int) -> Iterator[None]:
    segment = _LIBC.syscall(_SHMGET, key, 4096, _IPC_CREAT | 0o666)
    if segment < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    with ExitStack() as stack:
        stack.callback(_LIBC.syscall, _SHMCTL, segment, _IPC_RMID, 0)
        yield


@contextmanager
def _shm_file(name: str) -> Iterator[None]:
    path = Path("/dev/shm") / name  # noqa: S108
    path.write_text("STX_CANARY")
    try:
        yield
    finally:
        path.unlink()


def _add_keys() -> None:
    for keyring in (-3, -4):
        _LIBC.syscall(_ADD_KEY, b"user", b"stx_canary", b"secret", ctypes.c_size_t(6), keyring)
