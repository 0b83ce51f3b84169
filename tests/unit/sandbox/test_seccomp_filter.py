"""The system call filter as a program: run here by a small machine, and compared with what was reviewed."""

import errno
import hashlib
import itertools
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from toolmesh_sandbox.errors import SandboxUnavailableError
from toolmesh_sandbox.seccomp.rules import FilterRules, assemble
from toolmesh_sandbox.seccomp.syscall_numbers import NEWEST_REVIEWED, numbers

STRICT = FilterRules(network=False, sessions=False, shared_memory=False, unix_sockets=False, pid_namespace=True)
OPEN = FilterRules(network=True, sessions=True, shared_memory=True, unix_sockets=False, pid_namespace=True)
MODEL = FilterRules(network=False, sessions=True, shared_memory=True, unix_sockets=True, pid_namespace=True)
BARE = FilterRules(network=True, sessions=True, shared_memory=True, unix_sockets=False, pid_namespace=False)
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, KILLED = "allowed", "killed"

GOLDEN = {
    ("x86_64", STRICT): (288, "08a8194010a69b17"),
    ("x86_64", OPEN): (274, "45d82e4df5c6ec30"),
    ("aarch64", STRICT): (244, "86f4045fd4f63158"),
    ("aarch64", OPEN): (230, "60bb122f5d2a8d8f"),
}


def decide(program: bytes, number: int, arguments: tuple[int, ...] = (), architecture: int = 0xC000003E) -> str:
    """Run classic BPF over one system call: `allowed`, `killed`, or the name of an errno."""
    words = [argument & 0xFFFFFFFFFFFFFFFF for argument in arguments] + [0] * (6 - len(arguments))
    data = struct.pack("<IIQ6Q", number, architecture, 0, *words)
    accumulator = position = 0
    for _ in range(len(program)):
        code, jump_true, jump_false, value = struct.unpack_from("<HBBI", program, position * 8)
        position += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            kinds = {0x7FFF0000: ALLOWED, 0x80000000: KILLED}
            return kinds.get(value) or errno.errorcode[value & 0xFFFF]
        else:
            holds = {0x15: accumulator == value, 0x25: accumulator > value, 0x45: bool(accumulator & value)}[code]
            position += jump_true if holds else jump_false
    raise AssertionError("the program does not end")


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize("rules", [STRICT, OPEN])
def test_the_filter_is_the_one_that_was_reviewed(machine: str, rules: FilterRules) -> None:
    """Byte for byte: a change of rules has to be looked at, and then entered here."""
    program = assemble(rules, machine)
    assert (len(program) // 8, hashlib.sha256(program).hexdigest()[:16]) == GOLDEN[machine, rules]


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_every_variant_fits_the_kernel_and_ends(machine: str) -> None:
    """At most 4096 instructions, no jump beyond the end, and the last one returns."""
    for flags in itertools.product([True, False], repeat=5):
        names = ("network", "sessions", "shared_memory", "unix_sockets", "pid_namespace")
        program = assemble(FilterRules(**dict(zip(names, flags, strict=True))), machine)
        count = len(program) // 8
        assert count <= 4096
        for index in range(count):
            code, jump_true, jump_false, _ = struct.unpack_from("<HBBI", program, index * 8)
            assert code == 6 or index + 1 + max(jump_true, jump_false) < count


CALLS = [
    # name, arguments, strict, open
    ("unshare", (0x10000000,), "EPERM", "EPERM"),
    ("ptrace", (), "EPERM", "EPERM"),
    ("keyctl", (), "EPERM", "EPERM"),
    ("clone3", (), "ENOSYS", "ENOSYS"),
    ("io_uring_setup", (), "ENOSYS", "ENOSYS"),
    ("openat2", (), "ENOSYS", "ENOSYS"),
    ("inotify_init1", (), "EMFILE", "EMFILE"),
    ("setsid", (), "EPERM", ALLOWED),
    ("setpgid", (0, 0), "EPERM", ALLOWED),
    ("shmget", (), "EPERM", ALLOWED),
    ("mq_open", (), "EPERM", ALLOWED),
    ("clone", (0x01200011,), ALLOWED, ALLOWED),
    ("clone", (0x10000011,), "EPERM", "EPERM"),
    ("ioctl", (0, 0x5401), ALLOWED, ALLOWED),
    ("ioctl", (0, 0x5412), "EPERM", "EPERM"),
    ("ioctl", (0, 0x100005412), "EPERM", "EPERM"),
    ("personality", (0xFFFFFFFF,), ALLOWED, ALLOWED),
    ("personality", (0x0040000,), "EPERM", "EPERM"),
    ("mknodat", (0, 0, 0o100644), ALLOWED, ALLOWED),
    ("mknodat", (0, 0, 0o010600), ALLOWED, ALLOWED),
    ("mknodat", (0, 0, 0o140600), "EPERM", "EPERM"),
    ("mknodat", (0, 0, 0o020600), "EPERM", "EPERM"),
    ("fchmodat", (0, 0, 0o755), ALLOWED, ALLOWED),
    ("fchmodat", (0, 0, 0o4755), "EPERM", "EPERM"),
    ("fchmodat2", (0, 0, 0o2755, 0), "EPERM", "EPERM"),
    ("openat", (0, 0, 0o100, 0o4755), "EPERM", "EPERM"),
    ("openat", (0, 0, 0x400000, 0o4755), "EPERM", "EPERM"),
    ("openat", (0, 0, 0, 0o4755), ALLOWED, ALLOWED),
    ("openat", (0, 0, 0o100, 0o644), ALLOWED, ALLOWED),
    ("socketpair", (1, 1, 0), ALLOWED, ALLOWED),
    ("socketpair", (2, 1, 0), "EPERM", "EPERM"),
    ("socket", (1, 1, 0), "EPERM", "EAFNOSUPPORT"),
    ("socket", (2, 1, 0), "EPERM", ALLOWED),
    ("socket", (10, 2 | 0x80000, 17), "EPERM", ALLOWED),
    ("socket", (2, 1, 262), "EPERM", "EAFNOSUPPORT"),
    ("socket", (2, 3, 1), "EPERM", "EAFNOSUPPORT"),
    ("socket", (2, 2, 1), "EPERM", "EAFNOSUPPORT"),
    ("socket", (16, 3, 0), "EPERM", ALLOWED),
    ("socket", (16, 3, 9), "EPERM", "EAFNOSUPPORT"),
    ("socket", (40, 1, 0), "EPERM", "EAFNOSUPPORT"),
    ("connect", (), "EPERM", ALLOWED),
    ("accept4", (), "EPERM", ALLOWED),
    ("prlimit64", (77,), ALLOWED, ALLOWED),
]


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize(("name", "arguments", "strict", "wide"), CALLS)
def test_each_rule_decides_as_the_specification_says(
    machine: str, name: str, arguments: tuple[int, ...], strict: str, wide: str
) -> None:
    """On both machines, with and without a network."""
    number = numbers(machine)[name]
    architecture = ARCHITECTURES[machine]
    assert decide(assemble(STRICT, machine), number, arguments, architecture) == strict
    assert decide(assemble(OPEN, machine), number, arguments, architecture) == wide


def test_other_architectures_and_new_calls_get_nowhere() -> None:
    """i386 by int 0x80 and x32 are killed; what the kernel has grown since the review does not exist."""
    program = assemble(STRICT, "x86_64")
    assert decide(program, 1, architecture=0x40000003) == KILLED
    assert decide(program, 0x40000000 + 112) == KILLED
    assert decide(program, NEWEST_REVIEWED + 1) == "ENOSYS"
    assert decide(program, 0) == ALLOWED


def test_a_model_socket_can_be_connected_and_not_served() -> None:
    """The one exception to closed sockets: a stream of the family AF_UNIX."""
    number, program = numbers("x86_64"), assemble(MODEL, "x86_64")
    assert decide(program, number["socket"], (1, 1 | 0x80000, 0)) == ALLOWED
    assert decide(program, number["connect"]) == ALLOWED
    assert decide(program, number["socket"], (1, 2, 0)) == "EAFNOSUPPORT"
    assert decide(program, number["socket"], (2, 1, 0)) == "EAFNOSUPPORT"
    assert decide(program, number["bind"]) == "EPERM"


def test_without_a_pid_namespace_other_processes_cant_be_named() -> None:
    """Limits, affinity and priority of oneself only."""
    number, program = numbers("x86_64"), assemble(BARE, "x86_64")
    for name, arguments in (("prlimit64", (77,)), ("sched_setaffinity", (77,)), ("setpriority", (0, 77))):
        assert decide(program, number[name], arguments) == "EPERM"
        assert decide(program, number[name]) == ALLOWED


def test_a_machine_without_rules_is_refused() -> None:
    """Rather than run without a filter."""
    with pytest.raises(SandboxUnavailableError, match="riscv64") as caught:
        assemble(STRICT, "riscv64")
    assert caught.value.missing == "seccomp filter"


def test_the_numbers_are_the_kernels() -> None:
    """Compared with the headers of this machine, where they are installed."""
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        pytest.skip("needs the kernel's headers")
    known = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", header.read_text())}
    for name, number in numbers("x86_64").items():
        assert known.get(name, number) == number, name


def test_the_kernel_takes_every_variant() -> None:
    """Loaded for real, in a child process."""
    code = (
        "import sys\n"
        "from toolmesh_sandbox.kernel_calls import load_filter, prctl\n"
        "prctl(38, 1)\n"
        "load_filter(bytes.fromhex(sys.argv[1]))\n"
        "print('loaded')"
    )
    for rules in (STRICT, OPEN, MODEL, BARE):
        done = subprocess.run(
            [sys.executable, "-c", code, assemble(rules).hex()], capture_output=True, text=True, check=False
        )
        assert done.stdout == "loaded\n", done.stderr
