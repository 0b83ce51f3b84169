"""Classic BPF for seccomp: the few instructions that a system call filter needs, and their bytes."""

import errno
import struct
from collections.abc import Sequence
from typing import NamedTuple

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_GREATER = 0x25  # BPF_JMP | BPF_JGT | BPF_K
_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_LONGEST_JUMP = 255

# struct seccomp_data { int nr; __u32 arch; __u64 instruction_pointer; __u64 args[6]; }
_NUMBER_AT = 0
_ARCHITECTURE_AT = 4
_ARGUMENTS_AT = 16


class Instruction(NamedTuple):
    """A `struct sock_filter`."""

    code: int
    jump_true: int
    jump_false: int
    value: int


ALLOW = Instruction(_RETURN, 0, 0, 0x7FFF0000)
KILL = Instruction(_RETURN, 0, 0, 0x80000000)
LOAD_NUMBER = Instruction(_LOAD, 0, 0, _NUMBER_AT)
LOAD_ARCHITECTURE = Instruction(_LOAD, 0, 0, _ARCHITECTURE_AT)


def fail(number: int) -> Instruction:
    """End the filter: the call fails with this errno."""
    return Instruction(_RETURN, 0, 0, 0x00050000 | number)


REFUSE = fail(errno.EPERM)
ABSENT = fail(errno.ENOSYS)


def load_argument(index: int) -> Instruction:
    """The low 32 bits of an argument, on a little-endian machine: what the kernel reads of an `int`."""
    return Instruction(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * index)


def keep_bits(mask: int) -> Instruction:
    """Clear all other bits of what was loaded."""
    return Instruction(_AND, 0, 0, mask)


def if_equal(value: int, block: Sequence[Instruction]) -> list[Instruction]:
    """Run the block when what was loaded is this value."""
    return [Instruction(_EQUAL, 0, _jump(block), value), *block]


def unless_equal(value: int, block: Sequence[Instruction]) -> list[Instruction]:
    """Run the block when what was loaded is another value."""
    return [Instruction(_EQUAL, _jump(block), 0, value), *block]


def if_greater(value: int, block: Sequence[Instruction]) -> list[Instruction]:
    """Run the block when what was loaded is greater, unsigned."""
    return [Instruction(_GREATER, 0, _jump(block), value), *block]


def if_any_bit(mask: int, block: Sequence[Instruction]) -> list[Instruction]:
    """Run the block when what was loaded has one of these bits."""
    return [Instruction(_ANY_BIT, 0, _jump(block), mask), *block]


def _jump(block: Sequence[Instruction]) -> int:
    if len(block) > _LONGEST_JUMP:
        raise ValueError(f"a block of {len(block)} instructions can't be jumped over")
    return len(block)


def encode(program: Sequence[Instruction]) -> bytes:
    """The program as an array of `struct sock_filter`."""
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
