"""Workspaces that last for a turn, worker by worker: kept, stored, restored, let go, lost."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.values import Caller, WorkspaceCopy
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_runtime.declared.turn_workspaces import CallWorkspace, TurnWorkspaces
from toolmesh_runtime.workbench.payload_folder import PayloadFolder
from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.opening import open_backend
from toolmesh_sandbox.policy import Policy
from toolmesh_sandbox.profiles import profile
from toolmesh_sandbox.settings import SandboxSettings

pytestmark = pytest.mark.timeout(90)


class Bench:
    """A sandbox, a payload store, and calls with shell lines."""

    def __init__(self, backend: Backend, payloads: PayloadFolder) -> None:
        self.backend = backend
        self.payloads = payloads

    def worker(self) -> TurnWorkspaces:
        """One more worker's turns."""
        return TurnWorkspaces(self.backend, self.payloads)

    async def call(
        self, turns: TurnWorkspaces, line: str, turn: str = "t", before: WorkspaceCopy | None = None
    ) -> tuple[str, WorkspaceCopy | None]:
        """Run a line in a turn's workspace; return what it printed and how it left the workspace."""
        invocation = Invocation(
            id=new_invocation_id(),
            tool="x",
            exposed_name="x",
            pool="default",
            executor="e",
            caller=Caller(user="ada", agent="a"),
            deadline_ms=1,
            workspace_turn=turn,
            workspace=before,
        )
        async with turns.of(invocation, policy()) as used:
            said = await self.shell(used, line)
            await turns.save(used, invocation, policy())
        return said, used.copy

    async def shell(self, used: CallWorkspace, line: str) -> str:
        """Run a line in the sandbox."""
        async with self.backend.start(["/bin/sh", "-c", line], {}, policy(), used.workspace) as process:
            return (await process.wait()).stdout.decode()


def policy() -> Policy:
    declared = profile("declared")
    return replace(declared.with_wall_clock(20), folder=PurePosixPath("/work"))


@asynccontextmanager
async def bench(folder: Path) -> AsyncIterator[Bench]:
    async with open_backend(SandboxSettings(profiles=("declared",))) as backend:
        yield Bench(backend, PayloadFolder(folder))


@pytest.mark.requirement("declared:turn")
async def test_another_worker_restores_modes_links_and_holes(tmp_path: Path) -> None:
    """Whatever a tar file holds; an empty workspace needs no copy."""
    make = "echo hi > a; chmod 751 a; ln -s a b; mkfifo c; mkdir -p d/e; truncate -s 1M hole"
    async with bench(tmp_path) as table:
        first = table.worker()
        _, empty = await table.call(first, "true")
        _, left = await table.call(first, make, before=empty)
        second = table.worker()
        seen, _ = await table.call(second, "cat b; stat -c '%a %F' a c; ls -d d/e; stat -c %s hole", before=left)
        await first.close()
        await second.close()

    assert empty is not None
    assert (empty.payload, empty.unstored) == (None, False)
    assert left is not None
    assert left.payload is not None
    assert left.payload.size < 100_000
    assert seen == "hi\n751 regular file\n644 fifo\nd/e\n1048576\n"


async def test_a_state_that_nobody_names_is_dropped(tmp_path: Path) -> None:
    """A first call of a turn never finds files, and a copy is taken instead of a workspace that is behind it."""
    async with bench(tmp_path) as table:
        here = table.worker()
        _, one = await table.call(here, "echo one >> f")
        _, two = await table.call(table.worker(), "echo two >> f", before=one)
        behind, _ = await table.call(here, "cat f", before=two)
        fresh, _ = await table.call(here, "cat f || echo nothing")
        await here.close()

    assert behind == "one\ntwo\n"
    assert fresh == "nothing\n"


@pytest.mark.requirement("declared:turn")
async def test_what_cannot_be_packed_stays_on_its_worker(tmp_path: Path) -> None:
    """It goes on there; elsewhere, the turn's loss is told instead of an empty workspace."""
    async with bench(tmp_path) as table:
        here = table.worker()
        _, left = await table.call(here, "echo x > f; chmod 0 f")
        seen, again = await table.call(here, "ls", before=left)
        with pytest.raises(ToolmeshError, match="are lost") as caught:
            await table.call(table.worker(), "ls", before=left)
        await here.close()

    assert left is not None
    assert left.unstored
    assert seen == "f\n"
    assert again is not None
    assert caught.value.code is ErrorCode.PAYLOAD_MISSING


async def test_a_copy_that_is_gone_is_told(tmp_path: Path) -> None:
    """Not taken for an empty workspace."""
    async with bench(tmp_path) as table:
        here = table.worker()
        _, left = await table.call(here, "echo x > f")
        await here.close()
        assert left is not None
        assert left.payload is not None
        await table.payloads.delete(left.payload)
        with pytest.raises(ToolmeshError, match="can't be read"):
            await table.call(here, "ls", before=left)


async def test_large_workspaces_make_room_for_one_another(tmp_path: Path) -> None:
    """Those that are let go come back from their copies; none is lost."""
    async with bench(tmp_path) as table:
        here = table.worker()
        fill = "head -c 60000000 /dev/zero > f1; head -c 30000000 /dev/zero > f2; wc -c f1 f2 | tail -n 1"
        left = [await table.call(here, fill, turn=str(number)) for number in range(7)]
        kept = here.kept_bytes
        seen, _ = await table.call(here, "ls", turn="0", before=left[0][1])
        await here.close()
        assert here.kept_bytes == 0

    assert all(said == "90000000 total\n" for said, _ in left)
    assert kept <= 512 << 20
    assert seen == "f1\nf2\n"
