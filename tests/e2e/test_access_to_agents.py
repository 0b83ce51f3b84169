"""Which agents a user's roles open, asked and called through a running mesh."""

from pathlib import Path

import pytest
from tests.support.access_files import AUTHORIZATION, write_access
from tests.support.answering_mesh import answering_mesh
from tests.support.running_mesh import Finished, RunningMesh

pytestmark = pytest.mark.timeout(240)

ROLES = """
roles:
  guest: {scopes: ["agent:help*:invoke"]}
  porter: {scopes: ["agent:vault:invoke", "agent:helper:delegate"]}
  keeper: {inherits: [guest, porter], scopes: ["rbac:_:read", "tool:guarded:*"]}
"""
USERS = """
users:
  ann: {roles: [keeper]}
  bob: {roles: [porter]}
  eve: {roles: []}
"""
ECHO = 'echo {"text": "hi"}'
GUARDED = 'guarded {"text": "hi"}'


async def ask(mesh: RunningMesh, user: str, agent: str, text: str = ECHO, *more: str) -> Finished:
    """What an agent answers when `user` asks it."""
    return await mesh.toolmesh("ask", agent, text, "--user", user, *more)


@pytest.mark.requirement("access:agents")
@pytest.mark.requirement("access:system-users")
async def test_users_ask_the_agents_that_their_roles_open(tmp_path: Path) -> None:
    """By a glob, by an agent's own scopes and by default roles; who is refused costs no question to the model."""
    file = write_access(
        tmp_path / "access", authorization=f"{AUTHORIZATION}  default_roles: [guest]\n", roles=ROLES, users=USERS
    )
    also = {"helpdesk": (), "vault": ("rbac:_:read",)}
    async with answering_mesh(tmp_path, also, ("--authorization", str(file))) as (mesh, server):
        await _who_may_not_is_told_why(mesh)
        assert server.asked == []

        for user, agent in (("zoe", "helper"), ("zoe", "helpdesk"), ("ann", "vault")):
            answered = await ask(mesh, user, agent)
            assert answered.code == 0, (user, agent, answered)
            assert "the tool says: you said hi" in answered.stdout, (user, agent, answered)
        by_zoe, by_ann = (set(asked.tools) for asked in server.asked[::4])
        assert by_zoe - {"peer_helpdesk"} == {"echo", "fail", "sleep"}, "no peer but those that she may ask"
        assert by_ann - {"peer_helper", "peer_helpdesk"} == {"echo", "fail", "sleep", "guarded"}
        await _tools_of_an_open_agent_keep_their_own_scopes(mesh)


async def _who_may_not_is_told_why(mesh: RunningMesh) -> None:
    for user, agent, said in (
        ("zoe", "vault", "agent:vault:invoke, rbac:_:read"),
        ("bob", "vault", "needs the scope rbac:_:read"),
        ("bob", "helper", "agent:helper:invoke"),
        ("eve", "helper", "the user 'eve' has no role"),
        ("system:eval", "helper", "are toolmesh's own"),
        ("System:default", "helper", "are toolmesh's own"),
    ):
        asked = await ask(mesh, user, agent)
        called = await mesh.toolmesh("call", "echo", "--agent", agent, "--args", '{"text": "hi"}', "--user", user)
        for done in (asked, called):
            assert (done.code, done.stdout) == (4, ""), (user, agent, done)
            assert said in done.stderr, (user, agent, done)


async def _tools_of_an_open_agent_keep_their_own_scopes(mesh: RunningMesh) -> None:
    refused = await ask(mesh, "zoe", "helper", GUARDED)
    assert "there is no tool 'guarded'" in refused.stdout
    assert "you said" not in refused.stdout
    assert "you said hi" in (await ask(mesh, "ann", "helper", GUARDED)).stdout
    narrowed = await ask(mesh, "ann", "helper", GUARDED, "--scope", "agent:helper:invoke", "--scope", "tool:*:*")
    assert "does not have it: tool:*:*" in narrowed.stderr
    assert "there is no tool 'guarded'" in narrowed.stdout
