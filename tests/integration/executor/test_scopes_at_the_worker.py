"""A real worker refuses what a caller's scopes don't allow, even if whoever signs calls would let everybody in."""

from pathlib import Path

import pytest
from tests.support.sample_toolsets import ECHO, write_toolset
from tests.support.worker_mesh import NAMESPACE, broker_and_client, worker_in_process

from toolmesh_client import CallRequest, CallResult
from toolmesh_contracts.access.authorization import Authorization, AuthorizationType
from toolmesh_contracts.access.narrowing import narrow
from toolmesh_contracts.access.resolution import access_of_system_user
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.agent_files import load_agents
from toolmesh_executor.registry import build_registry

AGENT = """
agent_name: clerk
tools:
  - {tool_type: builtin, tool_name: echo}
  - {tool_type: builtin, tool_name: guarded, required_scopes: ["tool:entry:use"]}
"""
INVOKE = "agent:clerk:invoke"


ALONE = Authorization(type=AuthorizationType.DEFAULT_RBAC)


def refusal(result: CallResult) -> str:
    assert result.error is not None, result
    assert result.error.code is ErrorCode.PERMISSION_DENIED
    return result.error.message


@pytest.mark.requirement("access:three-checks")
async def test_a_worker_checks_agent_entry_and_manifest_on_its_own(tmp_path: Path) -> None:
    """The call is signed without a look at the caller's scopes; each missing scope is named, all together are enough."""
    (tmp_path / "clerk.yaml").write_text(AGENT)
    loaded = load_agents([tmp_path / "clerk.yaml"], NAMESPACE, {})
    clerk = build_registry(loaded.agents.values())["clerk"]
    toolset = write_toolset(
        tmp_path / "tools", {"echo": (ECHO, {}), "guarded": (ECHO, {"required_scopes": ["tool:manifest:use"]})}
    )
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset]):

        async def call(tool: str, *scopes: str) -> CallResult:
            token = mesh.issuer.token("ann", scopes, audience=NAMESPACE, agent="clerk")
            signed = clerk.scopes_to_sign(clerk.tools[tool])
            request = CallRequest(
                tool=tool, arguments={"text": "hi"}, required_scopes=signed, token=token, agent="clerk"
            )
            return await mesh.client.run(request)

        assert INVOKE in refusal(await call("echo"))
        assert INVOKE in refusal(await call("echo", "agent:clerk:delegate", "agent:other:invoke", "tool:*:*"))
        assert (await call("echo", INVOKE)).ok
        assert "tool:entry:use, tool:manifest:use" in refusal(await call("guarded", INVOKE))
        assert "tool:manifest:use" in refusal(await call("guarded", INVOKE, "tool:entry:use"))
        assert "tool:entry:use" in refusal(await call("guarded", INVOKE, "tool:manifest:use"))
        assert (await call("guarded", INVOKE, "tool:*:use")).ok
        narrowed = narrow((INVOKE, "tool:*:use"), (INVOKE, "tool:entry:use", "tool:*:*")).scopes
        assert "tool:manifest:use" in refusal(await call("guarded", *narrowed))


@pytest.mark.requirement("access:system-users")
async def test_system_users_reach_what_is_built_in_for_them(tmp_path: Path) -> None:
    """`system:default` any agent's open tools, `system:eval` all of `tool:` too, and one that is unknown nothing."""
    toolset = write_toolset(
        tmp_path / "tools",
        {"echo": (ECHO, {}), "guarded": (ECHO, {"required_scopes": ["tool:manifest:use"]})},
    )
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset]):

        async def call(user: str, tool: str) -> CallResult:
            scopes = access_of_system_user(ALONE, user).scopes
            token = mesh.issuer.token(user, scopes, audience=NAMESPACE, agent="clerk")
            request = CallRequest(
                tool=tool, arguments={"text": "hi"}, required_scopes=(INVOKE,), token=token, agent="clerk"
            )
            return await mesh.client.run(request)

        assert (await call("system:default", "echo")).ok
        assert "tool:manifest:use" in refusal(await call("system:default", "guarded"))
        assert (await call("system:eval", "guarded")).ok
        assert INVOKE in refusal(await call("system:gone", "echo"))
