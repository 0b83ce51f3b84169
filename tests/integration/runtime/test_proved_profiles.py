"""A profile is proved before the first tool of it is served; where it does not hold, only its own tools are left out."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.agent_folder import agent_folder
from tests.support.sample_toolsets import ECHO, write_toolset
from tests.support.sandboxes import throwaway_base, uids_of_this_process
from tests.support.toolset_reading import discovery
from tests.support.weak_bubblewrap import weakened

_WHEN_CLOSED: dict[str, Any] = {"when": "--unshare-net", "drop": {"--remount-ro": 1}}
_NO_CLOSED_NETWORK: dict[str, Any] = {
    "refuse": {"--unshare-net": "loopback: Failed RTM_NEWADDR: Operation not permitted"}
}


@pytest.fixture
def base() -> Iterator[Path]:
    """A base folder of its own for each test."""
    with throwaway_base() as folder:
        yield folder


def name_profiles(toolset: Path, profiles: Mapping[str, str | None]) -> None:
    """Write the manifest anew: these of its tools, under these profiles."""
    tools = {
        name: {"executable": "echo", "tool_dir": "echo"} | ({"sandbox_profile": profile} if profile else {})
        for name, profile in profiles.items()
    }
    (toolset / "manifest.yaml").write_text(json.dumps({"version": 1, "tools": tools}))


@pytest.mark.parametrize(
    ("weak", "says"),
    [
        (_WHEN_CLOSED, "restrictive: writes: / can be written"),
        (_NO_CLOSED_NETWORK, "the sandbox can't start profile 'restrictive': unprivileged user namespaces"),
    ],
)
async def test_a_profile_that_does_not_hold_costs_only_its_own_tools(
    base: Path, tmp_path: Path, weak: dict[str, Any], says: str
) -> None:
    """At the start and after a reload: named with the self-test's words, its neighbours served."""
    toolset = write_toolset(tmp_path / "tools", {"echo": (ECHO, {})})
    name_profiles(toolset, {"echo": None, "open": "permissive", "closed": "restrictive"})
    program = weakened(base, **weak)
    async with discovery(toolset, base=base / "sandbox", bwrap=program, **uids_of_this_process()) as found:
        inventory = await found.read()
        assert set(inventory.tools) == {"echo", "open"}
        (problem,) = inventory.problems
        assert (problem.tool, problem.source) == ("closed", "tools/manifest.yaml")
        assert says in problem.message
        assert problem.code == "SANDBOX_UNAVAILABLE"

        name_profiles(toolset, {"echo": None, "open": "restrictive", "closed": "restrictive", "new": "restrictive"})
        found.adopt(await found.read_again())
    assert {problem.tool for problem in found.inventory.problems} == {"open", "closed", "new"}
    assert set(found.inventory.tools) == {"echo", "open"}
    assert found.inventory.tools["open"].program.policy.profile == "permissive", "the former version stays"


async def test_a_profile_that_a_reload_brings_is_proved_first(base: Path, tmp_path: Path) -> None:
    """A worker that began with `standard` alone serves a closed tool only after it has attacked its profile."""
    toolset = write_toolset(tmp_path / "tools", {"echo": (ECHO, {})})
    for name, weak, served in (
        ("weak", _WHEN_CLOSED, {"echo"}),
        ("whole", {}, {"echo", "closed"}),
    ):
        name_profiles(toolset, {"echo": None})
        (base / name).mkdir(mode=0o755)
        program = weakened(base / name, **weak)
        async with discovery(toolset, base=base / name / "sandbox", bwrap=program, **uids_of_this_process()) as found:
            assert set((await found.read()).tools) == {"echo"}
            name_profiles(toolset, {"echo": None, "closed": "restrictive"})
            assert set((await found.read_again()).tools) == served


async def test_an_agent_folder_that_appears_later_has_its_contract_proved_first(base: Path, tmp_path: Path) -> None:
    """Declared tools of a worker that had none at its start are left out by name where their contract does not hold."""
    toolset = write_toolset(tmp_path / "tools", {"echo": (ECHO, {})})
    program = weakened(base, **_WHEN_CLOSED)
    async with discovery(toolset, base=base / "sandbox", bwrap=program, **uids_of_this_process()) as found:
        await found.read()
        agent_folder(toolset / "field", {"shout": "echo hello"})
        inventory = await found.read_again()
    assert set(inventory.tools) == {"echo"}
    (problem,) = inventory.problems
    assert (problem.tool, problem.source) == ("shout", "tools/shout.toml")
    assert "declared: writes: " in problem.message
