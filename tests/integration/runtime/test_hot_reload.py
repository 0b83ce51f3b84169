"""Toolset folders that change under a running worker: whoever looks sees the old tool or the new one, never neither."""

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.support.toolset_reading import GOOD, discovery, toolset

from toolmesh_broker.catalog import CatalogPublisher
from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.ports import Deleted, Entry, InitialDone
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_contracts.wire import decode
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.toolset_updates import ToolsetUpdates
from toolmesh_runtime.toolsets.discovery import Discovery
from toolmesh_runtime.toolsets.inventory_changes import changes_between

OLD, NEW = "Tell something about a city.", "Tell much about a city."
GONE = "gone"


@dataclass
class Followed:
    """A followed folder, and what a reader of the catalog has seen of each tool, in order."""

    discovery: Discovery
    seen: dict[str, list[str]] = field(default_factory=dict)

    def now(self, tool: str) -> str:
        return self.seen.get(tool, [GONE])[-1]

    def problems(self) -> str:
        return "\n".join(f"{each.tool}: {each.message}" for each in self.discovery.inventory.problems)


async def until(holds: Callable[[], bool], what: str, seconds: float = 12) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not in time: {what}"
        await asyncio.sleep(0.02)


@asynccontextmanager
async def followed(folder: Path, **settings: float) -> AsyncIterator[Followed]:
    async with MemoryHub.running("test") as hub, discovery(folder, **settings) as found:
        broker = MemoryBroker(hub, "worker")
        publisher = CatalogPublisher(broker)
        watched = Followed(found)
        await found.read()
        updates = ToolsetUpdates(
            pool="default",
            worker="w",
            discovery=found,
            publisher=publisher,
            metrics=WorkerMetrics(),
            reconcile_s=300,
        )
        updates.publish()
        async with publisher.running(), asyncio.TaskGroup() as group:
            await publisher.published()
            tasks = [group.create_task(updates.follow()), group.create_task(watch(broker, watched))]
            await until(lambda: bool(watched.seen), "the first catalog")
            try:
                yield watched
            finally:
                for task in tasks:
                    task.cancel()


async def watch(broker: MemoryBroker, followed: Followed) -> None:
    async with broker.keyvalue(broker.subjects.catalog_bucket()).watch() as changes:
        async for change in changes:
            if isinstance(change, Entry):
                entry = decode(CatalogEntry, change.value)
                tool, text = entry.tool, entry.description
            elif isinstance(change, Deleted):
                tool, text = change.key.split(".")[1], GONE
            else:
                assert isinstance(change, InitialDone)
                continue
            states = followed.seen.setdefault(tool, [])
            if not states or states[-1] != text:
                states.append(text)


async def write(program: Path, text: str) -> None:
    await asyncio.to_thread(program.write_text, text)


async def truncate_then_write(program: Path, text: str) -> None:
    """As many editors save, with a pause in which the file is empty, longer than files take to settle."""
    await write(program, "")
    await asyncio.sleep(0.7)
    await write(program, text)


async def move_into_place(program: Path, text: str) -> None:
    """A new file is written beside the old one, then takes its name; size and time are those of the old one."""
    before = await asyncio.to_thread(program.stat)
    other = program.with_name(".good.py.swp")
    await write(other, text)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    await asyncio.to_thread(other.rename, program)


async def keep_a_backup(program: Path, text: str) -> None:
    """The old file is moved away first, so that for a moment there is none."""
    await asyncio.to_thread(program.rename, program.with_name("good.py~"))
    await asyncio.sleep(0.1)
    await write(program, text)


async def write_line_by_line(program: Path, text: str) -> None:
    """As a slow copy arrives: each state in between is a program that can't be loaded, or does nothing."""
    lines = text.splitlines(keepends=True)
    for number in range(1, len(lines) + 1):
        await write(program, "".join(lines[:number]))
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("save", [truncate_then_write, move_into_place, keep_a_backup, write_line_by_line])
@pytest.mark.requirement("tool:old-or-new")
async def test_a_saved_program_is_the_old_tool_then_the_new_one(tmp_path: Path, save: Callable) -> None:  # type: ignore[type-arg]
    """However an editor saves it: the catalog never lacks the tool, nor shows a third state."""
    folder = toolset(tmp_path, good=GOOD)
    async with followed(folder) as watched:
        assert watched.now("good") == OLD
        await save(folder / "good" / "good.py", GOOD.replace("something", "much"))
        await until(lambda: watched.now("good") == NEW, "the new version")
        await until(lambda: not watched.problems(), "an end of problems")
    assert watched.seen["good"][:2] == [OLD, NEW]


@pytest.mark.requirement("tool:former-stays")
async def test_a_broken_successor_leaves_the_former_version_served(tmp_path: Path) -> None:
    """It is named with its error, and the repaired one takes over."""
    folder = toolset(tmp_path, good=GOOD, other=GOOD.replace("def good", "def other").replace("(good)", "(other)"))
    program, manifest = folder / "good" / "good.py", folder / "manifest.yaml"
    whole = manifest.read_text()
    async with followed(folder) as watched:
        first = watched.discovery.inventory
        program.write_text("import no_such_module\n")
        await until(lambda: "no_such_module" in watched.problems(), "the problem")
        broken = watched.discovery.inventory
        (told,) = changes_between(first, broken)
        assert told.startswith("good not reloaded: ")
        assert "no_such_module" in told
        assert changes_between(broken, first) == [f"good is all right again, version {first.tools['good'].version[:8]}"]
        assert "is still served" in watched.problems()
        assert set(watched.discovery.inventory.tools) == {"good", "other"}

        manifest.write_text(whole + "  bad: [")
        await until(lambda: "not valid YAML" in watched.problems(), "the manifest's problem")
        assert set(watched.discovery.inventory.tools) == {"good", "other"}

        manifest.write_text(whole)
        program.write_text(GOOD.replace("something", "much"))
        await until(lambda: watched.now("good") == NEW and not watched.problems(), "the repaired version")
        last = watched.discovery.inventory
        assert changes_between(broken, last) == [f"good reloaded, version {last.tools['good'].version[:8]}"]
        assert changes_between(last, last) == []
    assert GONE not in watched.seen["good"][:-1]
    assert GONE not in watched.seen["other"][:-1]


@pytest.mark.requirement("tool:removed")
async def test_what_is_removed_leaves_the_catalog_and_what_is_added_joins(tmp_path: Path) -> None:
    """An entry of a manifest, a program, a whole toolset folder, the last one of all; and a new folder beside them."""
    for name in ("one", "two"):
        tool = GOOD.replace("def good", f"def {name}").replace("(good)", f"({name})")
        toolset(tmp_path / name, **{name: tool, f"{name}_more": tool})
    async with followed(tmp_path) as watched:

        async def serves(*tools: str) -> None:
            await until(lambda: set(watched.discovery.inventory.tools) == set(tools), f"exactly {tools}")
            await until(lambda: {tool for tool in watched.seen if watched.now(tool) != GONE} == set(tools), "catalog")

        await serves("one", "one_more", "two", "two_more")
        all_four = watched.discovery.inventory
        manifest = tmp_path / "one" / "manifest.yaml"
        manifest.write_text("version: 1\ntools: {one: {executable: one}}\n")
        (tmp_path / "two" / "two_more" / "two_more.py").unlink()
        await serves("one", "two")
        assert "two_more" in watched.problems()
        changes = changes_between(all_four, watched.discovery.inventory)
        assert changes[0] == "one_more is no longer served"
        assert changes[1].startswith("two_more can't be served: ")
        assert len(changes) == 2
        served = [f"{name} is served, version {all_four.tools[name].version[:8]}" for name in ("one_more", "two_more")]
        assert changes_between(watched.discovery.inventory, all_four) == served
        shutil.rmtree(tmp_path / "two")
        await serves("one")
        shutil.rmtree(tmp_path / "one")
        await serves()
        toolset(tmp_path / "new", good=GOOD)
        await serves("good")
        assert not watched.problems()


@pytest.mark.requirement("tool:refreshed")
async def test_a_schema_is_asked_for_again_when_it_is_too_old(tmp_path: Path) -> None:
    """`schema_refresh_seconds` holds for the tool that has it; one that failed is tried again after a while."""
    clock = "import time, toolmesh_sdk\n" + GOOD.replace(
        "cli = ", 'good.__doc__ = f"Told at {time.time_ns()}.\\n\\nArgs:\\n    city: Where."\ncli = '
    )
    ready_at = time.time() + 8
    late = f"import time\nif time.time() < {ready_at}: raise SystemExit('not yet')\n" + GOOD
    folder = toolset(tmp_path, clock=clock, still=clock, late=late)
    manifest = folder / "manifest.yaml"
    manifest.write_text(
        manifest.read_text().replace("{executable: clock}", "{executable: clock, schema_refresh_seconds: 1}")
    )
    async with followed(folder, retry_s=2) as watched:
        assert "not yet" in watched.problems()
        await until(lambda: len(watched.seen.get("clock", [])) >= 3, "two more answers", 20)
        await until(lambda: watched.now("late") == OLD, "the late one", 20)
        tools = watched.discovery.inventory.tools
    assert len(watched.seen["still"]) - watched.seen["still"].count(GONE) == 1
    assert tools["clock"].discovered_ms > tools["still"].discovered_ms
    with contextlib.suppress(ValueError):
        watched.seen["clock"].remove(GONE)
    assert GONE not in watched.seen["clock"]
