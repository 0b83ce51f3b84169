"""System calls that Python 3.11 has no function for. Used between fork and exec, so the standard library only."""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_NOSUID, MS_NODEV, MS_REC, MS_SLAVE = 2, 4, 0x4000, 0x80000
_SECCOMP_MODE_FILTER = 2
_ALLOW_ALL = bytes.fromhex("060000000000ff7f")  # BPF_RET | BPF_K, SECCOMP_RET_ALLOW
_LINUX = sys.platform.startswith("linux")


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def prctl(option: int, value: int) -> None:
    """Set one attribute of this process, with the system call of that name; does nothing where there is none.

    Raises:
        OSError: the kernel refused it.
    """
    if _LINUX:
        _check(_libc().prctl(option, ctypes.c_ulong(value), 0, 0, 0))


def load_filter(program: bytes) -> None:
    """Put this thread under a seccomp filter for good; it needs no_new_privs.

    Raises:
        OSError: the kernel has no seccomp, or refused the program.
    """
    buffer = ctypes.create_string_buffer(program, len(program))
    order = _FilterProgram(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    _check(_libc().prctl(PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), ctypes.byref(order), 0, 0))


def can_filter() -> bool:
    """Whether a seccomp filter can be loaded here; tried in a child process."""
    child = os.fork()
    if child == 0:
        try:
            prctl(PR_SET_NO_NEW_PRIVS, 1)
            load_filter(_ALLOW_ALL)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def unshare(flags: int) -> None:
    """Leave namespaces for new ones.

    Raises:
        OSError: the kernel refused it.
    """
    _check(_libc().unshare(flags))


def setns(descriptor: int, kind: int) -> None:
    """Enter the namespace of a descriptor.

    Raises:
        OSError: the kernel refused it.
    """
    _check(_libc().setns(descriptor, kind))


def mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    """Mount a file system, or with `MS_SLAVE` change how mounts spread.

    Raises:
        OSError: the kernel refused it.
    """
    words = [os.fsencode(word) for word in (source, target, kind)]
    _check(_libc().mount(*words, ctypes.c_ulong(flags), options.encode()))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
