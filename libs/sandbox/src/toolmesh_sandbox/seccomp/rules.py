"""Which system calls a sandboxed command may make. Everything is allowed but what is named here.

A list of what is refused and not of what is allowed: an allow-list kills honest programs with every new C library. What
the kernel grows later does not exist for a tool until it was reviewed (`NEWEST_REVIEWED`). What a library tries first
and can do without answers ENOSYS, so that it falls back; the rest fails with EPERM.
"""

import dataclasses
import errno
import functools
import platform
import socket

from toolmesh_sandbox.errors import SandboxUnavailableError
from toolmesh_sandbox.seccomp.bpf import (
    ABSENT,
    ALLOW,
    KILL,
    LOAD_ARCHITECTURE,
    LOAD_NUMBER,
    REFUSE,
    Instruction,
    encode,
    fail,
    if_any_bit,
    if_equal,
    if_greater,
    keep_bits,
    load_argument,
    unless_equal,
)
from toolmesh_sandbox.seccomp.syscall_numbers import NEWEST_REVIEWED, numbers

_AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_REFUSED = """
unshare setns mount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick
mount_setattr swapon swapoff reboot kexec_load kexec_file_load init_module finit_module delete_module acct quotactl
quotactl_fd settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname vhangup iopl ioperm syslog sysfs
uselib lookup_dcookie modify_ldt ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd keyctl add_key request_key
perf_event_open bpf userfaultfd open_by_handle_at name_to_handle_at fanotify_init fanotify_mark memfd_secret move_pages
migrate_pages statmount listmount
"""
_ABSENT = "clone3 io_uring_setup io_uring_enter io_uring_register openat2"
_SESSIONS = "setsid setpgid"
_SHARED_MEMORY = """
shmget shmat shmctl shmdt msgget msgsnd msgrcv msgctl semget semop semctl semtimedop
mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
"""
_SERVING = "bind listen accept accept4"
_CONNECTING = "socket connect"
_INOTIFY = "inotify_init inotify_init1"
_FOREIGN = {
    "prlimit64": 0,
    "sched_setaffinity": 0,
    "sched_setscheduler": 0,
    "sched_setparam": 0,
    "sched_setattr": 0,
    "setpriority": 1,
    "ioprio_set": 1,
}
"""Calls that reach another process by its number, and which argument holds the number."""

_NEW_NAMESPACE = 0x7E020000  # CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
_TERMINAL_COMMANDS = (0x5412, 0x541C, 0x5423, 0x540E, 0x541D)  # TIOCSTI TIOCLINUX TIOCSETD TIOCSCTTY TIOCCONS
_PERSONALITIES = (0, 0xFFFFFFFF)  # Linux, and the question which one it is
_SET_ID = 0o6000
_CREATING = 0x00400040  # O_CREAT | __O_TMPFILE
_FILE_TYPE, _REGULAR, _FIFO = 0o170000, 0o100000, 0o010000
_SOCKET_TYPE = 0xF
_IPV4, _IPV6, _NETLINK = 2, 10, 16
_PROTOCOLS = (0, socket.IPPROTO_TCP, socket.IPPROTO_UDP)
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1}
_OPENS = {"open": (1, 2), "openat": (2, 3)}
_NODES = {"mknod": 1, "mknodat": 2}


@dataclasses.dataclass(frozen=True, kw_only=True)
class FilterRules:
    """What differs between policies.

    Attributes:
        network: TCP and UDP over IP may be used, and the routes asked for; never another family. Otherwise no socket
            can be made, bound, connected or listened on, but socket pairs can.
        sessions: new sessions and process groups may be made.
        shared_memory: System V and POSIX shared memory, semaphores and message queues may be used.
        unix_sockets: stream sockets of the family AF_UNIX may be made and connected.
        pid_namespace: the command has one. Without, calls that reach other processes by number are refused as well.
    """

    network: bool
    sessions: bool
    shared_memory: bool
    unix_sockets: bool
    pid_namespace: bool


@functools.lru_cache
def assemble(rules: FilterRules, machine: str | None = None) -> bytes:
    """The filter as bytes for `PR_SET_SECCOMP` or bubblewrap's `--seccomp`; the same bytes for the same rules.

    Args:
        rules: what is allowed.
        machine: `x86_64` or `aarch64`; None means this one.

    Raises:
        SandboxUnavailableError: there are no rules for this machine.
    """
    machine = machine or platform.machine()
    if machine not in _AUDIT_ARCHITECTURE:
        raise SandboxUnavailableError(
            f"there is no system call filter for {machine}", "run on x86_64 or aarch64", "seccomp filter"
        )
    return encode(_program(rules, machine))


def _program(rules: FilterRules, machine: str) -> list[Instruction]:
    number = numbers(machine)
    program = [LOAD_ARCHITECTURE, *unless_equal(_AUDIT_ARCHITECTURE[machine], [KILL]), LOAD_NUMBER]
    if machine == "x86_64":
        program += if_greater(_X32_BIT - 1, [KILL])
    program += if_greater(NEWEST_REVIEWED, [ABSENT])
    for name, block in _blocks(rules):
        if name in number:
            program += if_equal(number[name], block)
    return [*program, ALLOW]


def _blocks(rules: FilterRules) -> list[tuple[str, list[Instruction]]]:
    """Calls in the order of their tests, each with what decides it; every block ends the filter."""
    refused = _REFUSED
    refused += "" if rules.sessions else f" {_SESSIONS}"
    refused += "" if rules.shared_memory else _SHARED_MEMORY
    refused += "" if rules.network else f" {_SERVING}"
    refused += "" if rules.network or rules.unix_sockets else f" {_CONNECTING}"
    blocks = [(name, _mode(flags, mode)) for name, (flags, mode) in _OPENS.items()]
    blocks += [(name, [REFUSE]) for name in refused.split()]
    blocks += [(name, [ABSENT]) for name in _ABSENT.split()]
    blocks += [(name, [fail(errno.EMFILE)]) for name in _INOTIFY.split()]
    blocks += [(name, [load_argument(mode), *_no_set_id(), ALLOW]) for name, mode in _MODES.items()]
    blocks += [(name, _node(mode)) for name, mode in _NODES.items()]
    blocks += [
        ("clone", [load_argument(0), *if_any_bit(_NEW_NAMESPACE, [REFUSE]), ALLOW]),
        ("ioctl", [load_argument(1), *_refuse_values(_TERMINAL_COMMANDS), ALLOW]),
        ("personality", [load_argument(0), *_allow_values(_PERSONALITIES), REFUSE]),
        ("socketpair", [load_argument(0), *unless_equal(socket.AF_UNIX, [REFUSE]), ALLOW]),
    ]
    if rules.network or rules.unix_sockets:
        blocks.append(("socket", _socket(rules)))
    if not rules.pid_namespace:
        blocks += [(name, [load_argument(i), *unless_equal(0, [REFUSE]), ALLOW]) for name, i in _FOREIGN.items()]
    return blocks


def _mode(flags: int, mode: int) -> list[Instruction]:
    """An opening call: its mode counts only when it may make a file."""
    return [
        load_argument(flags),
        *if_any_bit(_CREATING, [load_argument(mode), *_no_set_id(), ALLOW]),
        ALLOW,
    ]


def _no_set_id() -> list[Instruction]:
    return if_any_bit(_SET_ID, [REFUSE])


def _node(mode: int) -> list[Instruction]:
    """Regular files and FIFOs only: no device, and no socket file."""
    return [
        load_argument(mode),
        *_no_set_id(),
        keep_bits(_FILE_TYPE),
        *_allow_values((0, _REGULAR, _FIFO)),
        REFUSE,
    ]


def _socket(rules: FilterRules) -> list[Instruction]:
    """IP with TCP or UDP, and the netlink family of routes, which the C library asks for its addresses."""
    refused = fail(errno.EAFNOSUPPORT)
    by_type = [
        load_argument(1),
        keep_bits(_SOCKET_TYPE),
        *if_greater(socket.SOCK_DGRAM, [refused]),
        *if_equal(0, [refused]),
        load_argument(2),
        *_allow_values(_PROTOCOLS),
        refused,
    ]
    routes = [load_argument(2), *unless_equal(0, [refused]), ALLOW]
    stream = [load_argument(1), keep_bits(_SOCKET_TYPE), *unless_equal(socket.SOCK_STREAM, [refused]), ALLOW]
    families = {_IPV4: by_type, _IPV6: by_type, _NETLINK: routes} if rules.network else {}
    families |= {int(socket.AF_UNIX): stream} if rules.unix_sockets else {}
    return [
        load_argument(0),
        *(instruction for family, block in families.items() for instruction in if_equal(family, block)),
        refused,
    ]


def _allow_values(values: tuple[int, ...]) -> list[Instruction]:
    return [instruction for value in values for instruction in if_equal(value, [ALLOW])]


def _refuse_values(values: tuple[int, ...]) -> list[Instruction]:
    return [instruction for value in values for instruction in if_equal(value, [REFUSE])]
