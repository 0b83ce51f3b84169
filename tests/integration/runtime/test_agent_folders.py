"""Agent folders as people leave them: what works is served, what doesn't is named, and nothing shows too much."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support.agent_folder import agent_folder
from tests.support.toolset_reading import GOOD, toolset

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_runtime.process.confinement import Confinement, publish_sdk
from toolmesh_runtime.toolsets.discovery import Discovery, DiscoverySettings
from toolmesh_sandbox.base_folder import open_base
from toolmesh_sandbox.opening import open_backend
from toolmesh_sandbox.settings import Mode, SandboxSettings


@asynccontextmanager
async def discovery(*places: Path, mode: Mode = Mode.BWRAP, hidden: tuple[Path, ...] = ()) -> AsyncIterator[Discovery]:
    sandbox = SandboxSettings(mode=mode, allow_direct=True)
    async with open_backend(sandbox) as backend:
        base = open_base(sandbox.base)
        settings = DiscoverySettings(
            toolsets=places,
            pool="default",
            base=base,
            probe_limit_s=20,
            default_timeout_s=300,
            default_profile="standard",
            default_python="/usr/bin/python3",
            hidden=hidden,
        )
        yield Discovery(settings, Confinement(backend, await publish_sdk(base, "/usr/bin/python3")))


@pytest.mark.requirement("declared:mistakes")
async def test_a_broken_tool_or_folder_leaves_the_others(tmp_path: Path) -> None:
    """Beside toolsets too: each mistake is named with the file that a person wrote, and the sound tools are served."""
    sound = agent_folder(tmp_path / "agents" / "sound", {"one": "true", "two": "true"}, more={"two": "inputs = 1"})
    broken = agent_folder(tmp_path / "agents" / "broken", {"three": "true"}, vessel='workdir = "/data"')
    answered = agent_folder(tmp_path / "agents" / "answered", {"four": "true"})
    (answered / "tools" / "four.toml").write_text(
        'name = "four"\ndescription = "d"\n[service]\nurl = "https://x.test/"'
    )
    tools = toolset(tmp_path / "tools", good=GOOD)

    async with discovery(tmp_path / "agents", tools) as found:
        inventory = await found.read()

    assert set(inventory.tools) == {"one", "good"}
    told = "\n".join(problem.message for problem in inventory.problems)
    assert f"{sound}/tools/two.toml" in told
    assert "did you mean 'input'?" in told
    assert f"{broken}/vessel.toml" in told
    assert "nothing is shown there" in told
    assert f"{answered}/tools/four.toml" in told
    assert "no entry of `services`" in told
    assert len(inventory.problems) == 3


@pytest.mark.requirement("tool:twice")
async def test_one_name_in_two_files_is_refused(tmp_path: Path) -> None:
    """Across agent folders and manifests; the error names both files."""
    one = agent_folder(tmp_path / "one", {"same": "true"})
    two = agent_folder(tmp_path / "two", {"same": "true"})
    three = agent_folder(tmp_path / "three", {"good": "true"})
    tools = toolset(tmp_path / "tools", good=GOOD)
    for places, files in (
        ((one, two), (one / "tools/same.toml", two / "tools/same.toml")),
        ((three, tools), (three / "tools/good.toml", tools / "manifest.yaml")),
    ):
        async with discovery(*places) as found:
            with pytest.raises(ConfigError) as caught:
                await found.read()
        assert all(str(file) in str(caught.value) for file in files)


@pytest.mark.requirement("declared:package")
async def test_a_replaced_version_is_still_served_to_who_names_it(tmp_path: Path) -> None:
    """Until its tool is gone; a version that nobody ever saw is not served."""
    agent = agent_folder(tmp_path / "a", {"say": "echo one"})
    async with discovery(agent) as found:
        before = (await found.read()).tools["say"]
        agent_folder(agent, {"say": "echo two"})
        found.adopt(await found.read_again())
        after = found.inventory.tools["say"]
        served = [found.served("say", version) for version in (None, after.version, before.version, "f" * 64)]
        agent_folder(agent, {"other": "true"})
        found.adopt(await found.read_again())
        gone = found.served("say", before.version)

    assert before.version != after.version
    assert served == [after, after, before, None]
    assert gone is None


async def test_a_folder_that_breaks_keeps_its_former_tools(tmp_path: Path) -> None:
    """A half-written vessel.toml takes nothing away, and is told."""
    agent = agent_folder(tmp_path / "a", {"say": "echo one"})
    async with discovery(agent) as found:
        before = dict((await found.read()).tools)
        (agent / "vessel.toml").write_text("[tools\n")
        inventory = await found.read_again()

    assert dict(inventory.tools) == before
    assert "not valid TOML" in inventory.problems[0].message


@pytest.mark.requirement("declared:mounts")
async def test_no_mount_shows_what_is_the_workers_own(tmp_path: Path) -> None:
    """Its base folder, its keys, or a folder above them; a missing folder is named too."""
    (tmp_path / "data").mkdir()
    secret = tmp_path / "config" / "keys" / "sealing.json"
    secret.parent.mkdir(parents=True)
    secret.touch()
    wanted = {
        "base": str(SandboxSettings().base),
        "above": str(tmp_path / "config"),
        "link": "sneaky",
        "missing": "nowhere",
        "fine": str(tmp_path / "data"),
    }
    for name, source in wanted.items():
        agent_folder(
            tmp_path / "agents" / name,
            {f"tool_{name}": "true"},
            vessel=f'[[sandbox.mounts]]\nsource = "{source}"\ntarget = "/data"\n',
        )
    (tmp_path / "agents" / "link" / "sneaky").symlink_to("../../config")
    async with discovery(*sorted((tmp_path / "agents").iterdir()), hidden=(secret,)) as found:
        inventory = await found.read()

    assert set(inventory.tools) == {"tool_fine"}
    told = {problem.source: problem.message for problem in inventory.problems}
    assert "worker itself" in told["base/vessel.toml"]
    assert "worker itself" in told["above/vessel.toml"]
    assert "link/vessel.toml" in told
    assert "no such folder" in told["missing/vessel.toml"]


@pytest.mark.requirement("declared:confined")
@pytest.mark.parametrize("mode", [Mode.DIRECT, Mode.PRLIMIT_ONLY])
async def test_the_weaker_modes_refuse_declared_tools(tmp_path: Path, mode: Mode) -> None:
    """Nothing is silently weakened: the folder is a problem, and nothing of it is served."""
    agent = agent_folder(tmp_path / "a", {"say": "echo one"})
    async with discovery(agent, mode=mode) as found:
        inventory = await found.read()

    assert inventory.tools == {}
    assert "mode bwrap" in inventory.problems[0].message


async def test_reading_again_and_again_changes_nothing(tmp_path: Path) -> None:
    """An unchanged folder is the same package, and as old as it was."""
    agent = agent_folder(tmp_path / "a", {"say": "echo one"})
    async with discovery(agent) as found:
        before = await found.read()
        await asyncio.sleep(0.01)
        assert await found.read_again() == before
