"""Users with roles on a running mesh: what they may call, what they are told, and what their operator sees."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.access_files import AUTHORIZATION, BY_CLAIMS, write_access
from tests.support.running_mesh import Finished, RunningMesh, run_toolmesh, running_mesh
from tests.support.sample_toolsets import ECHO, write_toolset

pytestmark = pytest.mark.timeout(240)

AGENT = """
agent_name: clerk
tools:
  - {tool_type: builtin, tool_name: echo}
  - {tool_type: builtin, tool_name: alarm, tool_config: {_str_binary: echo}, required_scopes: ["tool:alarm:write"]}
  - {tool_type: builtin, tool_name: guarded}
"""
OTHER = "agent_name: chief\nrequired_scopes: ['rbac:_:read']\ntools: [{tool_type: builtin, tool_name: echo}]\n"
ROLES = """
roles:
  reader: {scopes: ["agent:clerk:invoke"]}
  planner: {inherits: [reader], scopes: ["tool:alarm:*"]}
  wide: {inherits: [reader], scopes: ["tool:*:*"]}
"""
USERS = """
users:
  Ann@Example.com: {roles: [planner]}
  bob: {roles: [reader]}
  wim: {roles: [wide]}
"""
HI = ("--args", '{"text": "hi"}')


def written(folder: Path, **texts: str) -> Path:
    return write_access(folder, **({"roles": ROLES, "users": USERS} | texts))


async def as_user(mesh: RunningMesh, user: str, tool: str, *more: str) -> Finished:
    """What becomes of an agent's tool when `user` calls it."""
    return await mesh.toolmesh("call", tool, "--agent", "clerk", *HI, "--user", user, *more)


def lacks(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """What a user lacks for each agent, agent's tool and tool."""
    found = {agent["name"]: agent["lacks"] for agent in document["agents"]}
    found |= {f"{a['name']}/{tool['name']}": tool["lacks"] for a in document["agents"] for tool in a["tools"]}
    return found | {tool["name"]: tool["lacks"] for tool in document["tools"]}


@pytest.mark.requirement("access:exactly")
@pytest.mark.requirement("access:shown")
@pytest.mark.requirement("access:edits")
async def test_users_may_do_what_their_roles_grant(tmp_path: Path) -> None:
    """Calls, narrowing, edits, the operator's view and the doctor, on one mesh."""
    access = tmp_path / "access"
    file = written(access)
    (tmp_path / "clerk.yaml").write_text(AGENT)
    (tmp_path / "chief.yaml").write_text(OTHER)
    toolset = write_toolset(
        tmp_path / "tools", {"echo": (ECHO, {}), "guarded": (ECHO, {"required_scopes": ["connector:_:read"]})}
    )
    agents = [tmp_path / "clerk.yaml", tmp_path / "chief.yaml"]
    async with running_mesh([toolset], agents=agents, options=("--authorization", str(file))) as mesh:
        assert any("3 roles, 3 users in the file" in line for line in mesh.progress)
        await _each_user_reaches_what_was_granted(mesh)
        await _unknown_and_reserved_users_are_refused(mesh, access)
        await _scopes_on_the_command_line_take_away(mesh)
        await _the_operator_sees_why(mesh)
        await _edits_count_at_once(mesh, access)


async def _each_user_reaches_what_was_granted(mesh: RunningMesh) -> None:
    for user, tool, code, said in [
        ("ann@EXAMPLE.com", "echo", 0, ""),
        ("ann@example.com", "alarm", 0, ""),
        ("ann@example.com", "guarded", 4, "needs the scope connector:_:read"),
        ("bob", "echo", 0, ""),
        ("bob", "alarm", 4, "needs the scope tool:alarm:write"),
        ("wim", "alarm", 0, ""),
        ("wim", "guarded", 4, "needs the scope connector:_:read"),
    ]:
        done = await as_user(mesh, user, tool)
        assert (done.code, bool(done.stdout)) == (code, code == 0), (user, tool, done)
        assert said in done.stderr, (user, tool, done)
        assert code == 0 or "ask an administrator" in done.stderr
    gated = await mesh.toolmesh("call", "echo", "--agent", "chief", *HI, "--user", "bob")
    assert (gated.code, gated.stdout) == (4, "")
    assert "agent 'chief' needs the scope agent:chief:invoke, rbac:_:read" in gated.stderr
    # No agent's check comes first here: the worker alone decides.
    assert (await mesh.toolmesh("call", "guarded", *HI, "--user", "bob")).code == 4
    assert (await mesh.toolmesh("call", "echo", *HI, "--user", "bob")).code == 0
    assert (await mesh.toolmesh("call", "guarded", *HI)).code == 0, "the mesh's owner keeps everything"


async def _unknown_and_reserved_users_are_refused(mesh: RunningMesh, access: Path) -> None:
    unknown = await mesh.toolmesh("call", "echo", *HI, "--user", "eve", "--json")
    assert unknown.code == 4
    error = json.loads(unknown.stdout)["error"]
    assert error["code"] == "PERMISSION_DENIED"
    assert error["message"] == "the user 'eve' has no role, so no scope"
    assert str(access / "users.yaml") in error["hint"]
    for user in ("system:eval", "SYSTEM:default"):
        reserved = await as_user(mesh, user, "echo")
        assert (reserved.code, reserved.stdout) == (4, "")
        assert "are toolmesh's own" in reserved.stderr
    nobody = await as_user(mesh, "unknown", "echo")
    assert (nobody.code, nobody.stdout) == (2, "")
    assert "names nobody" in nobody.stderr


async def _scopes_on_the_command_line_take_away(mesh: RunningMesh) -> None:
    ann = ("ann@example.com", "alarm", "--scope", "agent:clerk:invoke")
    narrowed = await as_user(mesh, *ann, "--scope", "tool:*:*")
    assert narrowed.code == 4
    assert "does not have it: tool:*:*" in narrowed.stderr
    assert "needs the scope tool:alarm:write" in narrowed.stderr
    assert (await as_user(mesh, *ann, "--scope", "tool:alarm:write")).code == 0
    assert (await as_user(mesh, "bob", "alarm", "--scope", "*")).code == 4


async def _the_operator_sees_why(mesh: RunningMesh) -> None:
    document = json.loads((await mesh.toolmesh("access", "show", "ANN@example.com", "--json")).stdout)
    assert (document["user"], document["authorization"]) == ("ann@example.com", "default_rbac")
    assert [(role["name"], role["from"]) for role in document["roles"]] == [
        ("planner", "file"),
        ("reader", "inherited"),
    ]
    assert document["scopes"] == ["tool:alarm:*", "agent:clerk:invoke"]
    assert lacks(document) == {
        "clerk": [],
        "clerk/echo": [],
        "clerk/alarm": [],
        "clerk/guarded": ["connector:_:read"],
        "chief": ["agent:chief:invoke", "rbac:_:read"],
        "chief/echo": ["agent:chief:invoke", "rbac:_:read"],
        "echo": [],
        "guarded": ["connector:_:read"],
    }
    shown = (await mesh.toolmesh("access", "show", "eve")).stdout
    assert "lacks agent:clerk:invoke" in shown
    assert "may be called" not in shown
    for scopes, code in (
        (["agent:clerk:invoke"], 0),
        (["agent:clerk:invoke", "tool:x:y"], 1),
        (["agent:clerk"], 2),
        ([], 2),
    ):
        checked = await mesh.toolmesh("access", "check", "bob", *scopes)
        assert checked.code == code, (scopes, checked)
    doctor = json.loads((await mesh.toolmesh("doctor", "--json")).stdout)["findings"]
    assert [one["state"] for one in doctor if one["check"] == "authorization"] == ["ok"]


async def _edits_count_at_once(mesh: RunningMesh, access: Path) -> None:
    written(access, users=USERS.replace("bob: {roles: [reader]}", "bob: {roles: [planner]}"))
    assert (await as_user(mesh, "bob", "alarm")).code == 0

    written(access, roles=ROLES.replace('inherits: [reader], scopes: ["tool:a', 'inherits: [raeder], scopes: ["tool:a'))
    broken = await as_user(mesh, "ann@example.com", "echo")
    assert (broken.code, broken.stdout) == (2, "")
    assert "roles.yaml:3: roles.planner.inherits[0]: the role 'raeder' is not defined" in broken.stderr
    assert (await mesh.toolmesh("call", "echo", *HI)).code == 0, "the mesh's owner needs no role"

    written(access, authorization=AUTHORIZATION + BY_CLAIMS.replace("[reader]", "[]"))
    by_claim = await mesh.toolmesh("access", "check", "zoe", "tool:alarm:write", "--claim", "groups=planning-team")
    other = await mesh.toolmesh("access", "check", "zoe", "tool:alarm:write", "--claim", "groups=Planning-Team")
    assert (by_claim.code, other.code) == (0, 1)

    written(access, authorization="{}")
    denied = await as_user(mesh, "ann@example.com", "echo")
    assert denied.code == 4
    assert "`deny_all`, for everybody" in denied.stderr

    written(access, authorization="authorization_service: {type: none}")
    assert (await as_user(mesh, "eve", "guarded")).code == 0
    checked = await mesh.toolmesh("access", "check", "eve", "tool:x:y", "--json")
    assert json.loads(checked.stdout)["authorization"] == "none", "a yes that means nothing says so"
    assert "everybody may call everything" in (await mesh.toolmesh("access", "check", "eve", "tool:x:y")).stderr
    doctor = await mesh.toolmesh("doctor")
    assert "everybody may call everything" in doctor.stdout


@pytest.mark.requirement("access:mistakes")
async def test_a_mesh_with_broken_authorization_does_not_start(tmp_path: Path) -> None:
    """Nothing runs, and one message names file, line, role and the nearest name; a variable is no way around it."""
    file = written(tmp_path / "access", users=USERS.replace("[planner]", "[plannr]"))
    toolset = write_toolset(tmp_path / "tools", {"echo": (ECHO, {})})
    data = tmp_path / "data"

    async def up(*options: str, **variables: str) -> Finished:
        return await run_toolmesh(
            "up", "--tools", str(toolset), *options, data_folder=data, extra_environment=variables
        )

    for done, said in (
        (await up("--authorization", str(file)), "users.yaml:2: "),
        (await up("--authorization", str(tmp_path / "gone.yaml")), "gone.yaml: can't read the file"),
        (await up("--authorization", str(file), AUTHORIZATION_TYPE="none"), "AUTHORIZATION_TYPE says 'none'"),
        (await up(AUTHORIZATION_TYPE="default_rbac"), "ROLE_DEFINITIONS_PATH: this key is required"),
    ):
        assert done.code == 2, done
        assert said in done.stderr
    assert not (data / "mesh.json").exists()
    assert not (data / "keys").exists()


@pytest.mark.requirement("access:exactly")
async def test_a_mesh_without_authorization_has_no_other_users(tmp_path: Path) -> None:
    """Whoever is named there has nothing, unless the owner says which scopes; the owner has everything."""
    toolset = write_toolset(tmp_path / "tools", {"echo": (ECHO, {})})
    async with running_mesh([toolset]) as mesh:
        refused = await mesh.toolmesh("call", "echo", *HI, "--user", "ann")
        said = await mesh.toolmesh("call", "echo", *HI, "--user", "ann", "--scope", "x:y:z")
        own = await mesh.toolmesh("call", "echo", *HI)
        shown = await mesh.toolmesh("access", "show", "ann")
    assert (refused.code, said.code, own.code, shown.code) == (4, 0, 0, 2)
    assert "--authorization FILE" in refused.stderr
    assert "--authorization FILE" in shown.stderr
