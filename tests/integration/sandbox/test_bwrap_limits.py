"""Limits that hold inside: output, input, files, processes, memory of the worker."""

import os
import resource
from pathlib import Path

import pytest
from tests.support.sandboxes import policy_with, run, run_as, sandbox


async def test_output_beyond_the_cap_is_counted_and_dropped(base: Path) -> None:
    """100 MB without a newline: the head is kept exactly, the rest counted, and the worker does not grow."""
    code = "import os\nfor _ in range(1600): os.write(1, b'x' * 65536)\nos.write(2, b'e' * 2000)"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with sandbox(base) as backend:
        ended = await run(backend, code, policy_with(caps=1000))
    assert (len(ended.stdout), ended.stdout_dropped) == (1000, 1600 * 65536 - 1000)
    assert (len(ended.stderr), ended.stderr_dropped) == (1000, 1000)
    assert ended.code == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 * 1024


async def test_a_file_over_the_size_limit_is_refused(user: str, base: Path) -> None:
    """Writing and stretching beyond RLIMIT_FSIZE fail, in memory files too."""
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "for make in (lambda: os.open('big', os.O_CREAT | os.O_WRONLY), lambda: os.memfd_create('m')):\n"
        "    fd = make()\n"
        "    for act in (lambda: os.ftruncate(fd, 1 << 40), lambda: os.pwrite(fd, b'x', 2 << 20)):\n"
        "        try: act(); print('allowed')\n"
        "        except OSError as e: print(e.errno)"
    )
    ended = await run_as(user, base, code, max_file_size_mb=1)
    assert ended.stdout.decode().split() == ["27"] * 4, ended


async def test_open_files_are_limited(user: str, base: Path) -> None:
    """The limit counts from zero, the standard streams included."""
    code = "import os\nn = 0\ntry:\n    while True: os.dup(0); n += 1\nexcept OSError as e: print(e.errno, n < 20)"
    ended = await run_as(user, base, code, max_open_files=20)
    assert ended.stdout.decode() == "24 True\n", ended


@pytest.mark.requirement("sandbox:limits")
async def test_processes_are_limited_inside_the_sandbox(user: str, base: Path) -> None:
    """Forking stops at the limit, which counts this sandbox alone, and the end is clean."""
    code = (
        "import os, time\nn = 0\n"
        "try:\n"
        "    for _ in range(40):\n"
        "        if os.fork() == 0: time.sleep(30); os._exit(0)\n"
        "        n += 1\n"
        "except OSError as e: print(e.errno, 8 <= n < 16)"
    )
    ended = await run_as(user, base, code, max_processes=16)
    assert ended.stdout.decode() == "11 True\n", ended
    assert ended.code == 0


async def test_a_process_over_its_cpu_limit_is_ended(base: Path) -> None:
    """SIGXCPU at the limit, told as the tool's signal and not as a time-out."""
    async with sandbox(base) as backend:
        ended = await run(backend, "while True: pass", policy_with(max_cpu_seconds=1))
    assert (ended.signal, ended.timed_out) == (24, False)


@pytest.mark.requirement("sandbox:limits")
async def test_no_limit_can_be_raised(user: str, base: Path) -> None:
    """Every hard limit is finite and stays."""
    code = (
        "import resource as r\n"
        "for n in ('NOFILE', 'NPROC', 'FSIZE', 'CPU', 'STACK', 'CORE', 'MSGQUEUE', 'MEMLOCK'):\n"
        "    hard = r.getrlimit(getattr(r, 'RLIMIT_' + n))[1]\n"
        "    assert hard != r.RLIM_INFINITY, n\n"
        "    try: r.setrlimit(getattr(r, 'RLIMIT_' + n), (hard, hard + 1)); print('raised', n)\n"
        "    except ValueError: pass\n"
        "print('kept')"
    )
    ended = await run_as(user, base, code)
    assert ended.stdout == b"kept\n", ended


@pytest.mark.parametrize("code", ["pass", "import os; os.close(0)", "import sys; sys.stdin.buffer.read(10)"])
async def test_input_that_is_not_read_does_not_block(base: Path, code: str) -> None:
    """4 MB of standard input to a tool that reads none, closes it, or reads a little."""
    async with sandbox(base) as backend:
        ended = await run(backend, code, policy_with(), b"x" * (4 << 20))
    assert ended.code == 0
    assert not ended.timed_out


async def test_input_arrives_whole_while_output_flows(base: Path) -> None:
    """8 MB through `cat`, in both directions at once."""
    data = os.urandom(1 << 20) * 8
    async with sandbox(base) as backend:
        ended = await run(backend, ["/bin/cat"], policy_with(), data)
    assert ended.stdout == data


async def test_tmp_is_bounded(base: Path) -> None:
    """Filling /tmp ends with ENOSPC at the policy's size."""
    code = (
        "n = 0\n"
        "try:\n"
        "    with open('/tmp/f', 'wb', buffering=0) as f:\n"
        "        while True: n += f.write(bytes(1 << 20))\n"
        "except OSError as e: print(e.errno, n >> 20)"
    )
    async with sandbox(base) as backend:
        ended = await run(backend, code, policy_with())
    assert ended.stdout == b"28 64\n", ended
