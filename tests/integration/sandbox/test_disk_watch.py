"""A workspace on the host can't be filled without end: by bytes or files, hidden or deleted ones too."""

from pathlib import Path

import pytest
from tests.support.sandboxes import run_as

from toolmesh_sandbox.process import Exit
from toolmesh_sandbox.profiles import profile

_MIB = 1 << 20
# Small pieces with pauses, so that a busy machine does not let the disk run full between two looks.
_FILLERS = {
    "many files with content": "import time\nfor n in range(4000):\n open(f'f{n}', 'wb').write(bytes(1 << 20)); time.sleep(0.001)",
    "empty files": "import time\nfor n in range(4000000): open(f'f{n}', 'w').close()",
    "hidden": (
        "import os, time\nos.mkdir('d')\nopen('d/f', 'wb')\nheld = os.open('d', os.O_RDONLY); os.chmod('d', 0)\n"
        "for n in range(4000):\n os.chmod('d', 0o700); open(f'd/{n}', 'wb').write(bytes(1 << 20)); os.chmod('d', 0)\n"
        " time.sleep(0.001)"
    ),
    "deleted but open": (
        "import os, time\nheld = []\nfor n in range(4000):\n"
        " held.append(open('f', 'wb')); os.unlink('f'); held[-1].write(bytes(8 << 20)); held[-1].flush(); time.sleep(0.01)"
    ),
    "deleted but mapped": (
        "import mmap, os, time\nheld = []\nfor n in range(4000):\n file = open('f', 'wb+'); os.unlink('f')\n"
        " file.write(bytes(8 << 20)); file.flush(); held.append(mmap.mmap(file.fileno(), 8 << 20)); file.close(); time.sleep(0.01)"
    ),
    "deep": "import os, time\nfor n in range(3000): os.mkdir('d'); os.chdir('d')\ntime.sleep(60)",
}


@pytest.mark.requirement("sandbox:limits")
@pytest.mark.parametrize("filler", _FILLERS)
async def test_a_tool_that_fills_its_workspace_is_killed_for_it(user: str, base: Path, filler: str) -> None:
    """Under the profile with the least room, before its time is up, and it is said why."""
    ended = await run_as(user, base, _FILLERS[filler], name="restrictive", max_open_files=1000, max_cpu_seconds=15)
    assert (ended.out_of_disk, ended.killed, ended.timed_out, ended.setup_failed) == (True, True, False, None), ended


async def test_prlimit_only_measures_too(user: str, base: Path) -> None:
    """The backend without namespaces watches the workspace as well."""
    ended = await run_as(user, base, _FILLERS["many files with content"], mode="prlimit-only")
    assert ended.out_of_disk, ended


async def test_what_fits_is_left_alone(user: str, base: Path) -> None:
    """Hard links and sparse files count as what they take; a tool below its limits ends by itself."""
    code = (
        "import os, time\nfile = open('f', 'wb'); file.write(bytes(200 << 20)); file.truncate(250 << 20)\n"
        "for n in range(50): os.link('f', f'l{n}')\n"
        "open('sparse', 'wb').truncate(250 << 20); time.sleep(0.5); print('done')"
    )
    ended: Exit = await run_as(user, base, code)
    assert (ended.code, ended.stdout, ended.out_of_disk) == (0, b"done\n", False), ended


def test_every_profile_has_a_limit() -> None:
    """None of the four can fill a disk."""
    for name in ("declared", "restrictive", "standard", "permissive"):
        limits = profile(name).limits
        assert 0 < limits.workspace_bytes <= 4096 * _MIB
        assert limits.disk_files > 0
