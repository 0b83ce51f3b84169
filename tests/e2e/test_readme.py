"""What the README tells a newcomer to type works as it stands."""

import asyncio
import contextlib
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest
from tests.support.running_mesh import Finished, run_toolmesh, start_toolmesh, toolmesh_environment

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def commands() -> list[list[str]]:
    """The arguments of each `toolmesh` command, in the page's order."""
    lines = re.findall(r"^    \.venv/bin/toolmesh (.+)$", README, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


async def run_program(source: str, data_folder: Path) -> Finished:
    """Runs a Python program as a user of the mesh would."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        source,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=toolmesh_environment(data_folder),
    )
    async with asyncio.timeout(40):
        stdout, stderr = await process.communicate()
    assert process.returncode is not None
    return Finished(process.returncode, stdout.decode(), stderr.decode())


@pytest.mark.timeout(120)
async def test_every_command_and_the_program_of_the_readme_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`up` in one terminal, all others in another, and the program; each ends with 0 and shows what it should."""
    up, *others = commands()
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert up[0] == "up"
    assert {"tools", "call"} <= {command[0] for command in others}
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    mesh = await start_toolmesh(*up, data_folder=tmp_path / "data")
    try:
        assert mesh.stdout is not None
        async with asyncio.timeout(40):
            assert (await mesh.stdout.readline()).startswith(b"toolmesh is ready")
        for command in others:
            done = await run_toolmesh(*command, data_folder=tmp_path / "data")
            assert done.code == 0, (command, done.stderr)
            if command[0] == "call":
                assert done.stdout.startswith("Sunny in Oslo, 22 C.")
                assert "asking the station" in done.stderr
        ran = await run_program(program, tmp_path / "data")
        assert ran.code == 0, ran.stderr
        assert "asking the station in Oslo" in ran.stdout
        assert ran.stdout.splitlines()[-1] == "{'sky': 'sunny', 'degrees': '22 C'}"
        mesh.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            await mesh.communicate()
        assert mesh.returncode == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            mesh.kill()
        await mesh.communicate()
