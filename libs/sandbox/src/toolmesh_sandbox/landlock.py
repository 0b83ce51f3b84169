"""Landlock: an extra layer where the kernel has it (landlock(7)). Without it nothing here does anything.

Under bubblewrap it only scopes sockets: a domain that restricts files may not mount. Without bubblewrap it is all that
keeps a tool from the worker's files and processes when both have one uid.
"""

import ctypes
import os
import struct
from collections.abc import Sequence
from contextlib import suppress

from toolmesh_sandbox.kernel_calls import PR_SET_NO_NEW_PRIVS, prctl

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on every architecture
_VERSION, _BENEATH = 1, 1
_WRITE_FILE, _TRUNCATE, _REFER = 1 << 1, 1 << 14, 1 << 13
_CHANGE_FOLDER = sum(1 << bit for bit in range(4, 13))  # remove and make files, folders, links, sockets, FIFOs, devices
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2
_SCOPED_SINCE, _TRUNCATE_SINCE, _REFER_SINCE = 6, 3, 2
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")


def version() -> int:
    """The kernel's Landlock version, 0 where there is none."""
    return max(0, int(_syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)))


def keep_from_abstract_sockets() -> None:
    """Let this process connect to no abstract Unix socket of others (Linux 6.12).

    Raises:
        OSError: the kernel knows it and refused it.
    """
    if version() >= _SCOPED_SINCE:
        _restrict(0, _SCOPE_ABSTRACT_SOCKETS, ())


def keep_writes_below(folders: Sequence[str]) -> None:
    """Let this process change nothing but what lies below these folders, and from Linux 6.12 signal only its own.

    Raises:
        OSError: the kernel knows it and refused it, or a folder does not exist.
    """
    known = version()
    if known:
        rights = _WRITE_FILE | _CHANGE_FOLDER
        rights |= (_TRUNCATE if known >= _TRUNCATE_SINCE else 0) | (_REFER if known >= _REFER_SINCE else 0)
        _restrict(rights, _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if known >= _SCOPED_SINCE else 0, folders)


def _restrict(rights: int, scopes: int, folders: Sequence[str]) -> None:
    attributes = struct.pack("QQQ", rights, 0, scopes)
    size = len(attributes) if scopes else 8
    ruleset = int(_syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0))
    _check(ruleset)
    try:
        for folder in folders:
            _allow(ruleset, folder, rights)
        for device in _DEVICES if rights else ():
            with suppress(FileNotFoundError):
                _allow(ruleset, device, rights & (_WRITE_FILE | _TRUNCATE))
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        _check(int(_syscall(_RESTRICT_SELF, ruleset, 0)))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", rights, beneath)
        _check(int(_syscall(_ADD_RULE, ruleset, _BENEATH, rule, 0)))
    finally:
        os.close(beneath)


def _syscall(number: int, *arguments: object) -> int:
    result: int = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    return result


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
