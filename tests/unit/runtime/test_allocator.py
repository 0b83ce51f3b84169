"""A worker gives the memory of large blocks back, whatever small ones were made between them."""

import subprocess
import sys

import pytest

_GROW = """
import os, sys
from toolmesh_runtime.allocator import give_memory_back
if sys.argv[1] == "with":
    give_memory_back()
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
bytearray(30 << 20)  # from here on glibc by itself takes blocks of this size from its heap
before = resident()
kept = []
for _ in range(100):
    large = bytearray(1 << 20)
    kept.append((large, bytearray(3000)))
kept = [small for _large, small in kept]
del large
print(resident() - before)
"""


def grown_mib(how: str) -> int:
    child = subprocess.run([sys.executable, "-c", _GROW, how], capture_output=True, text=True, check=True, timeout=50)
    return int(child.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc only")
def test_memory_of_large_blocks_is_given_back() -> None:
    """100 MiB between small blocks that stay: they go back to the kernel, which they do not by themselves."""
    assert grown_mib("without") > 50
    assert grown_mib("with") < 10
