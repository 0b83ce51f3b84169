"""A /dev/shm of each call's own: what Python builds on it works, and it has an end in size, files and time."""

import dataclasses
import os
from pathlib import Path

import pytest
from tests.support.sandboxes import policy_with, run, run_as, sandbox

_WORK = """
import multiprocessing, os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.shared_memory import SharedMemory

def square(number): return number * number

if __name__ == "__main__":
    with multiprocessing.Lock(): pass
    with multiprocessing.Pool(2) as pool: print(pool.map(square, range(4)))
    with ProcessPoolExecutor(2) as pool: print(list(pool.map(square, range(3))))
    made = SharedMemory(create=True, size=1 << 20)
    made.buf[0] = 7
    seen = SharedMemory(name=made.name)
    print(seen.buf[0])
    seen.close(); made.close(); made.unlink()
    print(os.listdir("/dev/shm"))
"""
_FLOOD = """
import os
for number in range(1_000_000): os.close(os.open(f"{folder}/{{number}}", os.O_CREAT | os.O_WRONLY))
print("all of them")
"""
_MAPPED = """
import mmap, time
held = []
for number in range(2):
    file = open(f"/dev/shm/{{number}}", "wb+"); file.truncate(60 << 20); held.append(mmap.mmap(file.fileno(), 60 << 20))
    for at in range(0, 60 << 20, 4096): held[-1][at] = 1
taken = bytearray({mib} << 20)
taken[::4096] = b"x" * len(taken[::4096])
time.sleep(0.5)
print("done")
"""
_UNMAPPED = """
import time
for number in range(2): open(f"/dev/shm/{{number}}", "wb").write(bytes(60 << 20))
taken = bytearray({mib} << 20)
taken[::4096] = b"x" * len(taken[::4096])
time.sleep(0.5)
print("done")
"""


def on_the_host(name: str) -> bool:
    """Whether the host's /dev/shm has something of this name."""
    return Path("/dev/shm", name).exists()  # noqa: S108


@pytest.mark.parametrize("name", ["restrictive", "standard", "permissive"])
async def test_locks_pools_and_segments_of_python_work(user: str, base: Path, name: str) -> None:
    """`multiprocessing` and `concurrent.futures`, in each profile that a manifest can name."""
    ended = await run_as(user, base, _WORK, name=name)
    assert (ended.code, ended.stdout) == (0, b"[0, 1, 4, 9]\n[0, 1, 4]\n7\n[]\n"), ended


async def test_it_is_the_calls_own_and_goes_with_it(base: Path) -> None:
    """No other call sees it, at the same time or later, and the host neither; it is nobody's place for devices."""
    stay = "import time; open('/dev/shm/toolmesh-mine', 'w').write('x'); print(end='', flush=True); time.sleep(1); print('there')"
    look = "import os; print(os.listdir('/dev/shm'), [o for o in open('/proc/mounts').read().split('\\n') if '/dev/shm' in o])"
    async with sandbox(base) as backend, backend.workspaces.new() as one:
        policy = policy_with()
        async with backend.start(["/usr/bin/python3", "-c", stay], {}, policy, one) as process:
            beside = await run(backend, look, policy)
            assert (await process.wait()).stdout == b"there\n"
        async with backend.start(["/usr/bin/python3", "-c", look], {}, policy, one) as process:
            after = await process.wait()
    for ended in (beside, after):
        assert ended.stdout.startswith(b"[] "), ended
        assert b"nosuid,nodev" in ended.stdout
    assert not on_the_host("toolmesh-mine")


async def test_it_is_full_at_its_size(user: str, base: Path) -> None:
    """ENOSPC at the profile's number, whatever the number of files."""
    fill = (
        "n = 0\ntry:\n    for i in range(1000): open(f'/dev/shm/{i}', 'wb').write(bytes(1 << 20)); n += 1\n"
        "except OSError as e: print(e.errno, n)"
    )
    ended = await run_as(user, base, fill, name="restrictive")
    assert ended.stdout == b"28 128\n", ended


@pytest.mark.parametrize(
    ("code", "mib", "over"), [(_MAPPED, 330, False), (_UNMAPPED, 330, False), (_UNMAPPED, 420, True)]
)
async def test_what_is_in_it_is_memory_of_the_call_and_counts_once(
    user: str, base: Path, code: str, mib: int, *, over: bool
) -> None:
    """120 MiB of files beside memory under a limit of 512 MiB, by cgroup and by watcher."""
    ended = await run_as(user, base, code.format(mib=mib), name="restrictive")
    assert ended.out_of_memory is over, ended
    assert ended.stdout == (b"" if over else b"done\n"), ended


@pytest.mark.requirement("sandbox:limits")
@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])  # noqa: S108
async def test_a_million_empty_files_end_the_call(user: str, base: Path, folder: str) -> None:
    """They take no byte of its size, but memory of the kernel."""
    ended = await run_as(user, base, _FLOOD.format(folder=folder), name="restrictive")
    assert (ended.out_of_disk, ended.killed, ended.timed_out, ended.setup_failed) == (True, True, False, None), ended


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])  # noqa: S108
async def test_a_root_worker_needs_no_more_capabilities_to_count_them(base: Path, folder: str) -> None:
    """It may not look into its tools' processes, so a child of the tool's own user does."""
    ended = await run_as("bare root", base, _FLOOD.format(folder=folder), name="restrictive")
    assert (ended.out_of_disk, ended.killed, ended.timed_out, ended.setup_failed) == (True, True, False, None), ended


async def test_as_many_files_as_the_profile_allows_are_left_alone(user: str, base: Path) -> None:
    """In each folder by itself."""
    make = (
        "import os, time\nfor n in range(16000):\n"
        "    for folder in ('/tmp', '/dev/shm'): os.close(os.open(f'{folder}/{n}', os.O_CREAT | os.O_WRONLY))\n"
        "time.sleep(0.5); print('done')"
    )
    ended = await run_as(user, base, make, name="restrictive")
    assert (ended.code, ended.stdout) == (0, b"done\n"), ended


async def test_a_policy_without_shared_memory_has_nowhere_to_put_it(base: Path) -> None:
    """The folder is there and read-only, so a lock can't be made."""
    policy = dataclasses.replace(policy_with(), shared_memory=False)
    code = (
        "import multiprocessing\n"
        "for what in (lambda: open('/dev/shm/x', 'w'), multiprocessing.Lock):\n"
        "    try: what(); print('made')\n    except OSError as error: print(error.errno)"
    )
    async with sandbox(base) as backend:
        ended = await run(backend, code, policy)
    assert ended.stdout == b"30\n30\n", ended
