"""Runs inside a sandbox and tries to break what was promised. Needs nothing but an interpreter's standard library.

Its one argument is a JSON object; it prints a JSON object of promise to what was found wrong, empty where it held.
"""

import contextlib
import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

_CLONE_NEWUSER = 0x10000000
_CALLS: tuple[tuple[str, int, int, tuple[int | bytes, ...]], ...] = (
    # name, number on x86-64 and aarch64, arguments; refused with EPERM, or with ENOSYS where libraries fall back
    ("unshare", 272, 97, (_CLONE_NEWUSER,)),
    ("mount", 165, 40, (b"none", b"/tmp", b"tmpfs", 0, 0)),
    ("ptrace", 101, 117, (16, 1, 0, 0)),
    ("keyctl", 250, 219, (0, -3, 0)),
    ("io_uring_setup", 425, 425, (1, 0)),
    ("userfaultfd", 323, 282, (1,)),
    ("bpf", 321, 280, (0, 0, 0)),
    ("perf_event_open", 298, 241, (0, 0, -1, -1, 0)),
    ("a call newer than this filter", 100_000, 100_000, ()),
)
_FAMILIES = (socket.AF_UNIX, socket.AF_PACKET, 40, 38, 44)  # AF_VSOCK AF_ALG AF_XDP
_SHOWN = 300
_HELD_S = 0.5
_LITTERED_S = 5


def main() -> None:
    """Try everything that the order asks for, and print what was found."""
    order = json.loads(sys.argv[1])
    found = {}
    for name in order["promises"]:
        try:
            found[name] = _PROMISES[name](order)[:_SHOWN]
        except Exception as error:  # noqa: BLE001 - a probe that fails proves nothing, whatever the reason is
            found[name] = f"could not be tried: {error!r}"
    sys.stdout.write(json.dumps(found))


def _environment(order: dict[str, Any]) -> str:
    seen = set(os.environ)
    for name in os.listdir("/proc") if order["alone"] else ():  # noqa: PTH208 - as few imports as can be
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", encoding="latin-1") as file:  # noqa: PTH123
                    seen |= {entry.partition("=")[0] for entry in file.read().split("\0") if entry}
            except OSError:
                continue
    more = sorted(seen - set(order["names"]))
    return f"variables {more} are visible" if more else ""


def _descriptors(_order: dict[str, Any]) -> str:
    open_ones = []
    for number in range(3, 256):
        try:
            os.fstat(number)
            open_ones.append(number)
        except OSError:
            continue
    return f"descriptors {open_ones} are open" if open_ones else ""


def _processes(order: dict[str, Any]) -> str:
    for number in order["host_pids"]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, 0)
            return f"process {number} of the host can be signalled"
    shown = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    return f"{len(shown)} processes are visible" if len(shown) > order["processes"] else ""


def _secrets(order: dict[str, Any]) -> str:
    for path in order["secrets"]:
        try:
            os.close(os.open(path, os.O_RDONLY))
        except OSError:
            continue
        return f"{path} can be opened"
    return ""


def _writes(order: dict[str, Any]) -> str:
    for folder in order["read_only"]:
        path = f"{folder}/.toolmesh-self-test"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError:
            continue
        os.unlink(path)  # noqa: PTH108
        return f"{folder or '/'} can be written"
    try:
        os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    except OSError:
        return ""
    return "kernel settings can be written"


def _disk(order: dict[str, Any]) -> str:
    for folder in order["bounded"]:
        found = os.statvfs(folder)
        if found.f_blocks * found.f_frsize > order["disk_bytes"] or not 0 < found.f_files <= order["disk_files"]:
            return f"{folder} holds {found.f_blocks * found.f_frsize} bytes and {found.f_files} files"
    return ""


def _shared_memory(order: dict[str, Any]) -> str:
    folder = "/dev/shm"  # noqa: S108 - tried
    seen = os.listdir(folder)  # noqa: PTH208
    if seen:
        return f"{folder} shows what is not this call's: {seen}"
    found, mode = os.statvfs(folder), os.stat(folder).st_mode & 0o7777  # noqa: PTH116
    if not 0 < found.f_blocks * found.f_frsize <= order["shared_bytes"]:
        return f"{folder} holds {found.f_blocks * found.f_frsize} bytes"
    if mode != 0o1777 or not found.f_flag & os.ST_NOSUID or not found.f_flag & os.ST_NODEV:
        return f"{folder} has mode {mode:o} and flags {found.f_flag}"
    # Left behind on purpose: a later call would see it if it did not go with this one.
    descriptor = os.open(f"{folder}/{order['shared_name']}", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
    os.ftruncate(descriptor, mmap.PAGESIZE)
    with mmap.mmap(descriptor, mmap.PAGESIZE) as segment:
        segment[0] = 1
    return ""


def _no_network(order: dict[str, Any]) -> str:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            with socket.socket(socket.AF_INET, kind) as made:
                made.settimeout(1)
                made.connect(("127.0.0.1", order["port"]))
        except OSError:
            continue
        return "a service of the host can be reached"
    return ""


def _socket_families(_order: dict[str, Any]) -> str:
    for family in _FAMILIES:
        try:
            socket.socket(family, socket.SOCK_STREAM).close()
        except OSError as error:
            if error.errno in {errno.EPERM, errno.EACCES, errno.EAFNOSUPPORT}:
                continue
        return f"sockets of family {family} can be made"
    return ""


def _privileges(_order: dict[str, Any]) -> str:
    library = ctypes.CDLL(None, use_errno=True)
    if os.getuid() == 0:
        return "uid 0"
    if library.prctl(39, 0, 0, 0, 0) != 1:  # PR_GET_NO_NEW_PRIVS
        return "privileges can be gained"
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    library.capget(header, data)
    return f"capabilities {list(data)}" if any(data) else ""


def _system_calls(_order: dict[str, Any]) -> str:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(21, 0, 0, 0, 0) != 2:
        return "no system call filter is loaded"
    intel = os.uname().machine == "x86_64"
    for name, on_intel, on_arm, arguments in _CALLS:
        ctypes.set_errno(0)
        words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
        if library.syscall(ctypes.c_long(on_intel if intel else on_arm), *words) != -1:
            return f"{name} works"
        if ctypes.get_errno() not in {errno.EPERM, errno.ENOSYS}:
            return f"{name} reaches the kernel: {os.strerror(ctypes.get_errno())}"
    return ""


def _sessions(_order: dict[str, Any]) -> str:
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os._exit(0)
        finally:
            os._exit(1)
    return "a session can be made" if os.waitpid(child, 0)[1] == 0 else ""


def _limits(order: dict[str, Any]) -> str:
    for name, (soft, hard) in order["limits"].items():
        number = getattr(resource, f"RLIMIT_{name}")
        now = resource.getrlimit(number)
        if now != (soft, hard):
            return f"RLIMIT_{name} is {now}, not {(soft, hard)}"
        try:
            resource.setrlimit(number, (soft, hard + 1))
        except (OSError, ValueError):
            continue
        return f"RLIMIT_{name} can be raised"
    return ""


def hog() -> None:
    """Take memory until something stops it; says so when nothing did."""
    kept = [bytearray(b"x") * (1 << 20) for _ in range(int(sys.argv[2]) // (1 << 20))]
    time.sleep(_HELD_S)
    sys.stdout.write("took it all" if kept else "")


def litter() -> None:
    """Make empty files in a folder, and wait to be stopped for it; says so when nothing did it."""
    for number in range(int(sys.argv[3])):
        os.close(os.open(f"{sys.argv[2]}/{number}", os.O_CREAT | os.O_WRONLY, 0o600))
    time.sleep(_LITTERED_S)
    sys.stdout.write("made them all")


def linger() -> None:
    """Ignore every signal, leave a child behind, and stay."""
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            continue
    os.fork()
    sys.stdout.write("ready")
    sys.stdout.flush()
    while True:
        signal.pause()


_PROMISES: dict[str, Callable[[dict[str, Any]], str]] = {
    "environment": _environment,
    "descriptors": _descriptors,
    "processes": _processes,
    "secrets": _secrets,
    "writes": _writes,
    "disk": _disk,
    "shared memory": _shared_memory,
    "network": _no_network,
    "socket families": _socket_families,
    "privileges": _privileges,
    "system calls": _system_calls,
    "sessions": _sessions,
    "limits": _limits,
}

if __name__ == "__main__":
    {"hog": hog, "litter": litter, "linger": linger}.get(sys.argv[1], main)()
