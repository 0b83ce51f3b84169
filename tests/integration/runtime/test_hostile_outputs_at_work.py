"""What hostile tools leave in a call's folder, as callers of a real worker see it: nothing of it harms anyone."""

import asyncio
from pathlib import Path

import pytest
from tests.support.worker_mesh import broker_and_client, worker_in_process

from toolmesh_client import CallResult, Client
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode

OWN = Path(__file__).parents[2] / "toolsets" / "own"

GOOD = "open('output/good.txt', 'w').write('good')"
OUTPUTS = {
    "os.symlink('/etc/passwd', 'output/link.txt')": "link.txt",
    "os.mkfifo('output/fifo')": "fifo",
    "os.link('runner_args.json', 'output/hard.txt')": "hard.txt",
    "os.symlink('/etc', 'output/folder')": "folder",
    "os.truncate(open('output/sparse', 'w').name, 1 << 26)": "sparse",
    "open('output/many-bytes', 'wb').write(bytes(1 << 20))": "many-bytes",
    "os.makedirs('output/' + '/'.join('abcdefgh')); open('output/a/b/c/d/e/f/deep', 'w')": "a/b/c/d",
    "open('output/' + 'line\\nend', 'w')": "line",
}
"""What is left, and what has to be named as refused, unless the tool itself could not do it."""

RESULTS = {
    "os.symlink('/etc/passwd', 'result.json'); os._exit(0)": ErrorCode.EXECUTION_ERROR,
    "os.mkfifo('result.json'); os._exit(0)": ErrorCode.EXECUTION_ERROR,
    "os.mkdir('result.json'); os._exit(0)": ErrorCode.EXECUTION_ERROR,
    "open('result.json', 'w').write('{'); os._exit(0)": ErrorCode.EXECUTION_ERROR,
    "open('result.json', 'w').write('x' * (1 << 20)); os._exit(0)": ErrorCode.RESULT_TOO_LARGE,
    'open(\'result.json\', \'w\').write(\'{"result": "fine", "error": ""}\'); os._exit(3)': ErrorCode.EXECUTION_ERROR,
    "os.chmod('.', 0o500)": ErrorCode.EXECUTION_ERROR,
}


@pytest.mark.requirement("process:outputs")
async def test_what_is_no_ordinary_file_is_refused_one_by_one(tmp_path: Path) -> None:
    """Links, special files, endless and deep ones are named; the good file beside them, and the result, are kept."""
    limits = {"artifact_bytes": 1000, "result_bytes": 100_000}
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN], limits=limits):
        statements = {f"{left}; {GOOD}": name for left, name in OUTPUTS.items()}
        flood = "[open(f'output/{number}', 'w').close() for number in range(1200)]"
        results = await asyncio.gather(*(mesh.client.call("leave", {"statement": one}) for one in statements))
        flooded = await mesh.client.call("leave", {"statement": flood})
    for name, result in zip(statements.values(), results, strict=True):
        assert [artifact.filename for artifact in result.artifacts] == ["good.txt"], (name, result.error)
        assert any(name in note and "refused" in note for note in result.notes), (name, result.notes)
        assert (result.outcome, result.message) == (Outcome.OK, "done"), result
    assert len(flooded.artifacts) <= 1000
    assert flooded.notes


@pytest.mark.requirement("process:outputs")
async def test_a_result_that_is_no_ordinary_file_is_a_failure_in_time(tmp_path: Path) -> None:
    """A link, a FIFO, a folder, rubbish, too much: each has its reason, and none is waited for."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN], limits={"result_bytes": 100_000}):
        results = await asyncio.gather(*(mesh.client.call("leave", {"statement": one}) for one in RESULTS))
    for (statement, code), result in zip(RESULTS.items(), results, strict=True):
        assert result.error is not None, statement
        assert (statement, result.error.code) == (statement, code)
        assert result.error.message
        assert "root:" not in repr(result)


async def test_two_calls_see_nothing_of_one_another(tmp_path: Path) -> None:
    """Each has a folder, processes and settings of its own, although both run at once."""
    look = (
        "import glob, time; time.sleep(1); "
        "open('output/seen.txt', 'w').write(' '.join(sorted(glob.glob('/work/*') + glob.glob('/proc/[0-9]*'))))"
    )
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        results = await asyncio.gather(
            *(mesh.client.call("leave", {"statement": look}, tool_config={"key": f"k{number}"}) for number in range(2))
        )
        seen = [await _content(mesh.client, result) for result in results]
    assert seen[0] == seen[1]
    assert "/work/runner_args.json" in seen[0]
    assert len([part for part in seen[0].split() if part.startswith("/proc/")]) <= 3


async def _content(client: Client, result: CallResult) -> str:
    (artifact,) = result.artifacts
    parts = [chunk async for chunk in client.open_artifact(artifact)]
    return b"".join(parts).decode()
