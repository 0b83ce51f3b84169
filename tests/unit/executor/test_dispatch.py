"""Dispatch: the caller's token and scopes decide, settings and secrets arrive, and everything is a result."""

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.scripted_worker import Behaviour, Job, ScriptedWorker, echo
from tests.support.tool_client import NAMESPACE, memory_mesh

from toolmesh_client import CallResult
from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.envelopes.reply import Outcome, Result, Status
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.sealed_config import merge_config, sealing_context
from toolmesh_executor.agent_dispatcher import agent_dispatcher
from toolmesh_executor.agent_files import load_agents
from toolmesh_executor.dispatch import Dispatcher, DispatchError, TokenVerifier
from toolmesh_executor.registry import build_registry
from toolmesh_identity.development import ISSUER_NAME, DevelopmentIssuer
from toolmesh_identity.sealing import open_sealed

AGENT = """
agent_name: weather_agent
tools:
  - tool_type: builtin
    tool_name: city_forecast
    tool_config: {_str_binary: get_forecast, units: celsius, password: "${PASSWORD}"}
  - tool_type: builtin
    tool_name: set_alarm
    required_scopes: ["tool:alarm:write"]
  - tool_type: builtin
    tool_name: launch
    hil: {require_approval: true}
  - tool_type: builtin
    tool_name: ghost
"""
INVOKE = "agent:weather_agent:invoke"


class Setup:
    """A dispatcher with one agent, and callers' tokens."""

    def __init__(self, dispatcher: Dispatcher, issuer: DevelopmentIssuer, worker: ScriptedWorker) -> None:
        self.dispatcher = dispatcher
        self.issuer = issuer
        self.worker = worker
        self.ended: list[tuple[str, str, Outcome]] = []

    def token(self, *scopes: str) -> str:
        return self.issuer.token("ada", scopes, audience=NAMESPACE)

    async def call(self, tool: str, *scopes: str, arguments: bytes = b"{}") -> CallResult:
        return await self.dispatcher.dispatch("weather_agent", tool, arguments, self.token(*scopes))


@contextlib.asynccontextmanager
async def dispatching(
    folder: Path, tool: Behaviour = echo, entries: Mapping[str, Mapping[str, Any]] | None = None
) -> AsyncIterator[Setup]:
    (folder / "agent.yaml").write_text(AGENT)
    loaded = load_agents([folder / "agent.yaml"], NAMESPACE, {"PASSWORD": "hunter2"})
    agents = build_registry(loaded.agents.values())
    tools = dict.fromkeys(("get_forecast", "set_alarm", "launch"), tool)
    async with memory_mesh(folder, tools, entries=entries) as (_, client, worker):
        issuer = DevelopmentIssuer(folder / "keys")
        verifier = TokenVerifier(keys=issuer.issuer_public_keys(), namespace=NAMESPACE, issuer=ISSUER_NAME)
        ended: list[tuple[str, str, Outcome]] = []
        dispatcher = Dispatcher(agents, client, verifier, lambda *call: ended.append(call))
        setup = Setup(dispatcher, issuer, worker)
        setup.ended = ended
        yield setup


def code_of(result: CallResult) -> ErrorCode:
    assert result.error is not None
    return result.error.code


@pytest.mark.requirement("tool:renamed")
async def test_a_renamed_tool_gets_its_settings_and_secrets(tmp_path: Path) -> None:
    """The worker gets its own name, the exposed name, the clear settings, and a box with the rest."""
    jobs: list[Job] = []

    async def remember(job: Job) -> Result:
        jobs.append(job)
        await job.status("looking")
        return job.ok(job.arguments)

    seen: list[Status] = []
    async with dispatching(tmp_path, remember) as setup:
        result = await setup.dispatcher.dispatch(
            "weather_agent",
            "city_forecast",
            {"city": "Oslo"},
            setup.token(INVOKE),
            on_status=seen.append,
            traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01",
        )
        assert result.data == {"city": "Oslo"}
        assert [status.text for status in seen] == ["", "looking"]
        call = jobs[0].invocation
        assert (call.tool, call.exposed_name, call.caller.agent, call.caller.user) == (
            "get_forecast",
            "city_forecast",
            "weather_agent",
            "ada",
        )
        assert jobs[0].headers["traceparent"].split("-")[1] == "a" * 32
        clear = json.loads(bytes(call.tool_config))  # type: ignore[arg-type] # there is one
        assert clear == {"units": "celsius"}
        assert call.sealed_config is not None
        context = sealing_context(NAMESPACE, "default", call.id)
        box = open_sealed(call.sealed_config, setup.issuer.sealing_keys("default"), context)
        assert merge_config(clear, json.loads(box))[0] == {"units": "celsius", "password": "hunter2"}
        assert setup.ended == [("weather_agent", "city_forecast", Outcome.OK)]


@pytest.mark.requirement("tool:settings")
async def test_settings_that_the_tool_does_not_take_are_refused_before_anything_is_signed(tmp_path: Path) -> None:
    """Nothing is sent; the message names the key and shows no value."""
    schema = msgspec.Raw(b'[{"key":"password","type":"integer"},{"key":"token","required":true}]')
    async with dispatching(tmp_path, entries={"get_forecast": {"config_schema": schema}}) as setup:
        refused = await setup.call("city_forecast", INVOKE)
        assert code_of(refused) is ErrorCode.INVALID_CONFIGURATION
        assert "'password' is not of type integer; 'token' is required" in refused.message
        assert "hunter2" not in str(refused)
        assert setup.worker.taken == []


@pytest.mark.requirement("identity:scopes")
async def test_scopes_are_checked_again_at_dispatch(tmp_path: Path) -> None:
    """A tool with scopes needs them, the others only the agent's; nothing is sent for a caller without."""
    async with dispatching(tmp_path) as setup:
        assert code_of(await setup.call("city_forecast")) is ErrorCode.PERMISSION_DENIED
        assert code_of(await setup.call("city_forecast", "tool:*:*")) is ErrorCode.PERMISSION_DENIED
        denied = await setup.call("set_alarm", INVOKE)
        assert code_of(denied) is ErrorCode.PERMISSION_DENIED
        assert "tool:alarm:write" in denied.message
        assert setup.worker.taken == []
        assert (await setup.call("set_alarm", INVOKE, "tool:alarm:*")).ok
        assert (await setup.call("city_forecast", INVOKE)).ok


async def test_the_signed_scopes_are_those_of_agent_and_entry(tmp_path: Path) -> None:
    """The worker checks them a third time."""
    jobs: list[Job] = []

    async def remember(job: Job) -> Result:
        jobs.append(job)
        return job.ok()

    async with dispatching(tmp_path, remember) as setup:
        await setup.call("set_alarm", "*")
        await setup.call("city_forecast", "*")
    assert [job.invocation.required_scopes for job in jobs] == [(INVOKE, "tool:alarm:write"), (INVOKE,)]


async def test_every_failure_is_a_result_for_the_model(tmp_path: Path) -> None:
    """Wrong agent, wrong tool, no worker, bad token, bad arguments, approval: a code, a message, a way on."""
    async with dispatching(tmp_path) as setup:
        token = setup.token("*")
        unknown = await setup.dispatcher.dispatch("wether_agent", "x", b"{}", token)
        assert code_of(unknown) is ErrorCode.TOOL_NOT_FOUND
        assert "did you mean 'weather_agent'" in unknown.text()
        tool = await setup.call("city_forcast", "*")
        assert code_of(tool) is ErrorCode.TOOL_NOT_FOUND
        assert "did you mean 'city_forecast'" in tool.text()
        ghost = await setup.call("ghost", "*")
        assert code_of(ghost) is ErrorCode.TOOL_NOT_AVAILABLE
        assert ghost.error is not None
        assert ghost.error.retryable
        assert code_of(await setup.call("launch", "*")) is ErrorCode.PERMISSION_DENIED
        broken = await setup.call("city_forecast", "*", arguments=b"[1]")
        assert code_of(broken) is ErrorCode.INVALID_ARGUMENTS
        for bad in ("", "a.b.c", token[:-4] + "AAAA"):
            result = await setup.dispatcher.dispatch("weather_agent", "city_forecast", b"{}", bad)
            assert code_of(result) is ErrorCode.AUTHENTICATION_FAILED
        foreign = setup.issuer.token("ada", ("*",), audience="other")
        result = await setup.dispatcher.dispatch("weather_agent", "city_forecast", b"{}", foreign)
        assert code_of(result) is ErrorCode.AUTHENTICATION_FAILED
        assert setup.worker.taken == []
        assert {outcome for _, _, outcome in setup.ended} == {Outcome.ERROR}
        assert {tool for _, tool, _ in setup.ended} == {"ghost", "launch", "city_forecast"}


async def test_the_model_sees_what_its_caller_may_use(tmp_path: Path) -> None:
    """Hidden without scopes, and without a worker; a caller who may not use the agent gets an error."""
    async with dispatching(tmp_path) as setup:

        def names(*scopes: str) -> list[str]:
            return [
                one.tool.exposed_name for one in setup.dispatcher.visible_tools("weather_agent", setup.token(*scopes))
            ]

        assert names(INVOKE) == ["city_forecast", "launch"]
        assert names(INVOKE, "tool:alarm:write") == ["city_forecast", "set_alarm", "launch"]
        with pytest.raises(DispatchError, match="needs the scope agent:weather_agent:invoke"):
            names("tool:*:*")
        with pytest.raises(DispatchError, match="there is no agent"):
            setup.dispatcher.visible_tools("nobody", setup.token("*"))


@pytest.mark.requirement("identity:scopes")
async def test_a_token_of_one_agent_is_refused_for_another(tmp_path: Path) -> None:
    """Nothing runs or is booked under another agent than the one that makes the call; its own token is taken."""
    jobs: list[Job] = []

    async def remember(job: Job) -> Result:
        jobs.append(job)
        return job.ok()

    async with dispatching(tmp_path, remember) as setup:
        other = setup.issuer.token("ada", ("*",), audience=NAMESPACE, agent="travel_agent")
        refused = await setup.dispatcher.dispatch("weather_agent", "city_forecast", b"{}", other)
        assert code_of(refused) is ErrorCode.PERMISSION_DENIED
        assert "'travel_agent'" in refused.message
        with pytest.raises(DispatchError, match="travel_agent"):
            setup.dispatcher.visible_tools("weather_agent", other)
        assert jobs == []
        own = setup.issuer.token("ada", ("*",), audience=NAMESPACE, agent="weather_agent")
        assert (await setup.dispatcher.dispatch("weather_agent", "city_forecast", b"{}", own)).ok
        assert [job.invocation.caller.agent for job in jobs] == ["weather_agent"]


async def test_one_agent_can_be_called_from_its_file_alone(tmp_path: Path) -> None:
    """As the executor would; a file that can't be used is told only where the agent is in no other one."""
    broken, good = tmp_path / "broken.yaml", tmp_path / "agent.yaml"
    broken.write_text("agents: 3\n")
    async with dispatching(tmp_path) as setup:
        files, verifier = [good, broken], setup.dispatcher._verifier
        environment = {"PASSWORD": "hunter2"}
        client = setup.dispatcher._client
        dispatcher = agent_dispatcher("weather_agent", files, client, verifier, environment)
        assert (await dispatcher.dispatch("weather_agent", "city_forecast", b"{}", setup.token("*"))).ok
        with pytest.raises(ConfigError, match=r"broken\.yaml"):
            agent_dispatcher("other_agent", files, client, verifier, environment)


async def test_a_tool_that_was_left_out_is_told_with_the_reason(tmp_path: Path) -> None:
    """An unset variable is named where the tool is called, not only where the file is checked."""
    (tmp_path / "agent.yaml").write_text(AGENT)
    loaded = load_agents([tmp_path / "agent.yaml"], NAMESPACE, {})
    async with memory_mesh(tmp_path, {"get_forecast": echo}) as (_, client, _):
        issuer = DevelopmentIssuer(tmp_path / "keys")
        verifier = TokenVerifier(keys=issuer.issuer_public_keys(), namespace=NAMESPACE, issuer=ISSUER_NAME)
        dispatcher = Dispatcher(build_registry(loaded.agents.values()), client, verifier)
        token = issuer.token("ada", (INVOKE,), audience=NAMESPACE)
        result = await dispatcher.dispatch("weather_agent", "city_forecast", b"{}", token)
        assert code_of(result) is ErrorCode.INVALID_CONFIGURATION
        assert result.message.startswith("agent 'weather_agent' has to do without tool 'city_forecast': ")
        assert "PASSWORD" in result.message
        unknown = await dispatcher.dispatch("weather_agent", "city_forecats", b"{}", token)
        assert code_of(unknown) is ErrorCode.TOOL_NOT_FOUND
