"""What lies around a worker for its tools to get at: secrets, processes, listeners, keys. All of it loopback or local."""

import asyncio
import contextlib
import ctypes
import os
import secrets
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

GREETING = b'INFO {"server_id":"STX_CANARY"}\r\n'
_SHMGET, _SHMCTL, _ADD_KEY = (29, 31, 248) if os.uname().machine == "x86_64" else (194, 195, 217)
_IPC_CREAT, _IPC_RMID = 0o1000, 0
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The names that rows know, and the folders that their sandbox is to show.

    Attributes:
        secret_descriptor: Of the file with the secret; inheritable, for the worker to have.
        package: Folder of the tools, shown as `/agent`.
        workdir: Shown as `/data`.
        data: Shown as `/mnt/data`.
    """

    folder: Path
    port: int
    socket_path: Path
    abstract: str
    shm_key: int
    shm_file: str
    other_workspace: Path
    secret: Path
    secret_descriptor: int
    package: Path
    workdir: Path
    data: Path

    def head(self, host_pid: int) -> str:
        """The line that goes before a row's code."""
        names = {
            "HOST_PID": host_pid,
            "NATS_PORT": self.port,
            "SECRET": str(self.secret),
            "HOST_SOCK": str(self.socket_path),
            "SHMKEY": self.shm_key,
            "OTHER_WS": str(self.other_workspace),
            "ABS": self.abstract,
            "SHMF": self.shm_file,
        }
        return ";".join(f"{name}={value!r}" for name, value in names.items()) + "\n"

    @contextmanager
    def neighbour(self, uid: int) -> Iterator[int]:
        """A process of the user of one call, which no tool may touch; its pid. The secret is that user's meanwhile."""
        own = uid == os.getuid()
        if not own:
            os.chown(self.secret, uid, uid)
        process = subprocess.Popen(
            ["stx_canary_proc", "-c", "import time;time.sleep(3000)"],
            executable="/usr/bin/python3",
            env={},
            stdin=subprocess.DEVNULL,
            **({} if own else {"user": uid, "group": uid, "extra_groups": []}),  # type: ignore[call-overload]
        )
        try:
            yield process.pid
        finally:
            process.kill()
            process.wait()


@asynccontextmanager
async def staged(base: Path) -> AsyncIterator[Stage]:
    """Set everything up below a folder that every user can enter, and take down what would outlive it."""
    os.environ["STX_TEST_KEY"] = "STX_CANARY_secret_value"
    async with AsyncExitStack() as stack:
        folder = base / "run_host"
        for path in (folder, *(folder / name for name in ("agent", "workdir", "data", "other-call"))):
            path.mkdir()
            path.chmod(0o755)
        for name, text in (("agent/tool.py", "print(1)\n"), ("workdir/doc.txt", "x"), ("data/blob.bin", "x")):
            (folder / name).write_text(text)
            (folder / name).chmod(0o644)
        (folder / "other-call" / "s").write_text("STX_CANARY of another call")
        abstract = f"stx-{secrets.token_hex(6)}"
        servers = [await _tcp(), await _unix(str(folder / "host.sock")), await _unix(f"\0{abstract}")]
        for server in servers:
            stack.push_async_callback(_closed, server)
        (folder / "host.sock").chmod(0o777)
        key = secrets.randbelow(2**30) + 1
        stack.enter_context(_shared_memory(key))
        shm_file = f"stx-{secrets.token_hex(6)}"
        stack.enter_context(_shm_file(shm_file))
        _add_keys()
        yield Stage(
            folder=folder,
            port=servers[0].sockets[0].getsockname()[1],
            socket_path=folder / "host.sock",
            abstract=abstract,
            shm_key=key,
            shm_file=shm_file,
            other_workspace=folder / "other-call",
            secret=folder / "secret",
            secret_descriptor=stack.enter_context(_secret(folder / "secret")),
            package=folder / "agent",
            workdir=folder / "workdir",
            data=folder / "data",
        )


@contextmanager
def _secret(path: Path) -> Iterator[int]:
    path.write_text("STX_CANARY file")
    path.chmod(0o600)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.set_inheritable(descriptor, True)
        yield descriptor
    finally:
        os.close(descriptor)


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
