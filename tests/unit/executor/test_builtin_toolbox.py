"""The executor's own tools in a task: approval holds at the call too, and a call that was cut is made again or unknown."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.function_tools import Progress
from tests.support.scripted_worker import echo
from tests.support.tool_client import NAMESPACE, memory_mesh

from toolmesh_contracts.agent_config.entries import Approval
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.builtins.builtin_tool import BuiltinTool, succeeded
from toolmesh_executor.dispatch import Dispatcher, TokenVerifier
from toolmesh_executor.loop.builtin_toolbox import BuiltinToolbox
from toolmesh_executor.loop.records import PeerCall, ToolStarted
from toolmesh_executor.loop.toolbox import CallFound, NoResultYet, ToolOutcome
from toolmesh_executor.registry import AgentTools, LocalTool
from toolmesh_identity.development import ISSUER_NAME, DevelopmentIssuer


def local_tool(name: str, *, is_repeatable: bool, approval: Approval | None = None) -> LocalTool:
    builtin = BuiltinTool(
        name=name,
        description=name,
        parameters={"type": "object"},
        run=lambda arguments: succeeded(tool=name, given=arguments),
        is_repeatable=is_repeatable,
    )
    return LocalTool(exposed_name=name, required_scopes=(), approval=approval, place="here", builtin=builtin)


@contextlib.asynccontextmanager
async def toolbox(folder: Path, *tools: LocalTool) -> AsyncIterator[tuple[BuiltinToolbox, list[tuple[str, ...]]]]:
    agent = AgentTools(
        agent="a", required_scopes=(), tools={}, local={tool.exposed_name: tool for tool in tools}, problems=()
    )
    counted: list[tuple[str, ...]] = []
    async with memory_mesh(folder, {"echo": echo}) as (_, client, _):
        issuer = DevelopmentIssuer(folder / "keys")
        verifier = TokenVerifier(keys=issuer.issuer_public_keys(), namespace=NAMESPACE, issuer=ISSUER_NAME)
        dispatcher = Dispatcher({"a": agent}, client, verifier, lambda *call: counted.append(call))
        token = issuer.token("ada", ("agent:a:invoke",), audience=NAMESPACE)
        yield BuiltinToolbox(dispatcher=dispatcher, agent="a", token=token), counted


def code_of(found: CallFound) -> ErrorCode | None:
    assert isinstance(found, ToolOutcome)
    return found.code


async def test_a_call_runs_with_its_arguments_and_is_counted(tmp_path: Path) -> None:
    """By agent, tool and outcome, as a worker's is."""
    async with toolbox(tmp_path, local_tool("note", is_repeatable=True)) as (box, counted):
        found = await box.call("note", b'{"x": 1}', Progress())
        assert found == ToolOutcome(
            outcome=Outcome.OK, content='{"status": "success", "tool": "note", "given": {"x": 1}}'
        )
        assert code_of(await box.call("other", b"{}", Progress())) is ErrorCode.TOOL_NOT_FOUND
    assert counted == [("a", "note", Outcome.OK)]


async def test_a_tool_that_needs_approval_never_runs_without(tmp_path: Path) -> None:
    """The person is asked by whoever runs the task, and the call itself checks once more."""
    approval = Approval(require_approval=True, approval_message="Note {{ x }}?")
    async with toolbox(tmp_path, local_tool("note", is_repeatable=True, approval=approval)) as (box, counted):
        needed = box.approval("note", b'{"x": 1}')
        assert needed is not None
        assert needed.text == "Note 1?"
        assert code_of(await box.call("note", b"{}", Progress())) is ErrorCode.PERMISSION_DENIED
        assert counted == []
        assert code_of(await box.call("note", b"{}", Progress(), approved=True)) is None


@pytest.mark.parametrize("is_repeatable", [True, False])
async def test_a_call_that_was_cut_is_made_again_only_if_that_is_harmless(tmp_path: Path, is_repeatable: bool) -> None:
    """Else nobody knows what became of it, and the model is told so; so it is of a tool that is gone."""
    async with toolbox(tmp_path, local_tool("note", is_repeatable=is_repeatable)) as (box, _):
        cut = ToolStarted(call="1.1", tool="note")
        assert box.began(cut)
        assert not box.began(ToolStarted(call="1.1", tool="note", peer=PeerCall(task="t", deadline_ms=1)))
        found = await box.recover(cut, b"{}")
        if is_repeatable:
            assert found is NoResultYet.NEVER_BEGAN
        else:
            assert code_of(found) is ErrorCode.WORKER_LOST
        assert code_of(await box.recover(ToolStarted(call="1.1", tool="gone"), b"{}")) is ErrorCode.WORKER_LOST
