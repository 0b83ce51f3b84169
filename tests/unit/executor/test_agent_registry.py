"""Which tools an agent has: remote ones, renamed ones, missing ones; settings, secrets and scopes of each."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.scripted_worker import catalog_entry

from toolmesh_client.resolution import ToolsByPool
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.scopes import ScopeSet
from toolmesh_executor.agent_files import load_agents
from toolmesh_executor.registry import AgentTools, build_registry

AGENT = """
agents:
  - name: weather_agent
    tool_defaults:
      units: celsius
      region: ${REGION, eu}
    tools:
      - tool_type: builtin
        tool_name: get_forecast
        required_scopes: ["tool:weather:read"]
        tool_config:
          units: kelvin
          password: ${FORECAST_PASSWORD}
          nested: {list: [1, "${FORECAST_PASSWORD}"]}
      - tool_type: builtin
        tool_name: get_city_forecast
        tool_config: {_str_binary: get_forecast}
"""


def registry_of(folder: Path, text: str, environment: dict[str, str] | None = None) -> AgentTools:
    """The tools of the one agent in `text`."""
    (folder / "agent.yaml").write_text(text)
    loaded = load_agents(
        [folder / "agent.yaml"], "demo", {"FORECAST_PASSWORD": "hunter2"} if environment is None else environment
    )
    assert loaded.problems == ()
    (tools,) = build_registry(loaded.agents.values()).values()
    return tools


def catalog(*tools: str, **changes: Any) -> ToolsByPool:
    return {"default": {tool: catalog_entry(tool, **changes) for tool in tools}}


def test_remote_tools_keep_their_names_or_are_renamed(tmp_path: Path) -> None:
    """`_str_binary` names the tool on the worker; it routes and is no setting."""
    tools = registry_of(tmp_path, AGENT)
    assert {name: tool.remote_name for name, tool in tools.tools.items()} == {
        "get_forecast": "get_forecast",
        "get_city_forecast": "get_forecast",
    }
    assert "_str_binary" not in tools.tools["get_city_forecast"].config
    assert tools.problems == ()


def test_settings_are_merged_and_variables_are_sealed(tmp_path: Path) -> None:
    """The entry wins over `tool_defaults`; what came from a variable travels sealed, wherever it stands."""
    tool = registry_of(tmp_path, AGENT).tools["get_forecast"]
    clear, sealed = tool.settings_for(catalog_entry("get_forecast"))
    assert clear == {"units": "kelvin", "nested": {"list": [1, None]}}
    assert {secret.path: secret.value for secret in sealed} == {
        ("password",): "hunter2",
        ("region",): "eu",
        ("nested", "list", 1): "hunter2",
    }
    assert "hunter2" not in repr(tool)
    assert set(tool.secret_texts()) == {"hunter2", "eu"}


def test_a_setting_declared_secret_is_sealed(tmp_path: Path) -> None:
    """The tool's own schema says which settings are secret, even when they stand in the file."""
    text = "agent_name: a\ntools: [{tool_type: builtin, tool_name: t, tool_config: {key: abc, other: 1}}]\n"
    tool = registry_of(tmp_path, text).tools["t"]
    schema = msgspec.Raw(b'[{"key":"key","secret":true},{"key":"other"},{"key":"absent","secret":true}]')
    clear, sealed = tool.settings_for(catalog_entry("t", config_schema=schema))
    assert clear == {"other": 1}
    assert [(secret.path, secret.value) for secret in sealed] == [(("key",), "abc")]


def test_a_tool_with_wrong_settings_is_a_problem_and_not_shown(tmp_path: Path) -> None:
    """The operator is told where and what, without the value; the agent goes on with its other tools."""
    text = "agent_name: a\ntools:\n  - {tool_type: builtin, tool_name: t, tool_config: {apikey: hunter2}}\n"
    tools = registry_of(tmp_path, text + "  - {tool_type: builtin, tool_name: u}\n")
    schema = msgspec.Raw(b'[{"key":"api_key","secret":true,"required":true}]')
    served = {"default": {"t": catalog_entry("t", config_schema=schema), "u": catalog_entry("u")}}
    (problem,) = tools.unserved(served)
    assert (problem.code, problem.tool, problem.unserved) == (ErrorCode.INVALID_CONFIGURATION, "a/t", "")
    assert problem.source.endswith("agent.yaml:3")
    assert "'api_key' is required" in problem.message
    assert "did you mean 'api_key' by 'apikey'?" in problem.message
    assert "hunter2" not in problem.message
    assert [one.tool.exposed_name for one in tools.visible_tools(ScopeSet(["*"]), served)] == ["u"]


@pytest.mark.parametrize("schema", [b"7", b"{}", b"[1, null]", b'[{"secret": true}]', b'[{"key": 7, "secret": true}]'])
def test_a_strange_config_schema_seals_nothing_more(tmp_path: Path, schema: bytes) -> None:
    """A worker's odd schema never stops a call."""
    text = "agent_name: a\ntools: [{tool_type: builtin, tool_name: t, tool_config: {key: abc}}]\n"
    tool = registry_of(tmp_path, text).tools["t"]
    assert tool.settings_for(catalog_entry("t", config_schema=msgspec.Raw(schema))) == ({"key": "abc"}, ())


def test_a_name_exposed_twice_names_both_places(tmp_path: Path) -> None:
    """The model could not tell them apart: the first stays, the error has file and line of both."""
    text = """
agent_name: a
tools:
  - {tool_type: builtin, tool_name: get_forecast}
  - {tool_type: builtin, tool_name: get_forecast, tool_config: {_str_binary: other}}
"""
    tools = registry_of(tmp_path, text)
    assert tools.tools["get_forecast"].remote_name == "get_forecast"
    (problem,) = tools.problems
    path = tmp_path / "agent.yaml"
    assert f"{path}:4" in problem.message
    assert f"{path}:5" in problem.message
    assert problem.code is ErrorCode.INVALID_CONFIGURATION


def test_what_the_executor_can_not_run_yet_is_visible(tmp_path: Path) -> None:
    """In-process built-ins, groups, MCP and OpenAPI are reported one by one; the remote tools stay."""
    text = """
agent_name: a
tools:
  - {tool_type: builtin, tool_name: web_request}
  - {tool_type: builtin-group, group_name: data_analysis}
  - {tool_type: mcp, connection_params: {type: stdio, command: /bin/server}}
  - {tool_type: openapi, specification_url: "https://example.com/api.json"}
  - {tool_type: builtin, tool_name: web_request_2, tool_config: {_str_binary: fetch}}
  - {tool_type: builtin, tool_name: own}
"""
    tools = registry_of(tmp_path, text)
    assert set(tools.tools) == {"web_request_2", "own"}
    assert [problem.tool for problem in tools.problems] == [
        "a/web_request",
        "a/data_analysis",
        "a/entry 3",
        "a/entry 4",
    ]
    for problem in tools.problems:
        assert "not available yet" in problem.message
        assert problem.code is ErrorCode.TOOL_NOT_AVAILABLE
        assert str(tmp_path / "agent.yaml") in problem.source


@pytest.mark.parametrize("form", ["agent_name: a\n{}", "agents: [{{name: a, {}}}]"])
def test_a_group_that_a_file_asks_for_by_its_key_is_told_once(tmp_path: Path, form: str) -> None:
    """The keys are on by default, and an agent that names neither, or opts out, lacks nothing that it asked for."""

    def told(settings: str) -> list[tuple[str, ErrorCode]]:
        return [(problem.tool, problem.code) for problem in registry_of(tmp_path, form.format(settings)).problems]

    artifacts, data = (
        ("a/artifact_management", ErrorCode.TOOL_NOT_AVAILABLE),
        (
            "a/data_analysis",
            ErrorCode.TOOL_NOT_AVAILABLE,
        ),
    )
    group = "tools: [{tool_type: builtin-group, group_name: data_analysis}]"
    assert told("tools: []") == []
    assert told("auto_inject_artifact_tools: false") == []
    assert told("auto_inject_artifact_tools: true") == [artifacts]
    assert told("auto_inject_data_analysis_tools: true") == [data]
    assert told(group) == [data]
    assert told("auto_inject_data_analysis_tools: true" + (", " if "agents" in form else "\n") + group) == [data]


def test_defaults_of_file_and_agent_lie_under_every_entry(tmp_path: Path) -> None:
    """Key by key, the nearest wins; a mapping is replaced as a whole, and an empty one counts as one."""
    text = """
tool_defaults: {region: file, shared: file, nested: {a: 1, b: 2}}
agents:
  - name: a
    tool_defaults: {region: agent, own: agent}
    tools:
      - {tool_type: builtin, tool_name: plain}
      - {tool_type: builtin, tool_name: set, tool_config: {region: entry, nested: {a: 3}}}
      - {tool_type: builtin, tool_name: emptied, tool_config: {nested: {}, shared: null}}
"""
    tools = registry_of(tmp_path, text).tools
    below = {"region": "agent", "shared": "file", "nested": {"a": 1, "b": 2}, "own": "agent"}
    assert tools["plain"].config == below
    assert tools["set"].config == below | {"region": "entry", "nested": {"a": 3}}
    assert tools["emptied"].config == below | {"nested": {}, "shared": None}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("auto_inject_artefact_tools: true", "auto_inject_artifact_tools"),
        ("enable_embeds_resolution: false", "enable_embed_resolution"),
        ("tool_default: {}", "tool_defaults"),
    ],
)
def test_a_misspelt_key_of_the_registry_names_the_nearest(tmp_path: Path, wrong: str, right: str) -> None:
    """With its line."""
    (tmp_path / "agent.yaml").write_text(f"agent_name: a\n{wrong}\n")
    (problem,) = load_agents([tmp_path / "agent.yaml"], "demo", {}).problems
    assert problem.place.endswith("agent.yaml:2")
    assert f"did you mean {right!r}?" in str(problem)


def test_a_broken_entry_leaves_the_others(tmp_path: Path) -> None:
    """One failed toolset never stops an agent, and is never silent."""
    text = """
agent_name: a
tools:
  - {tool_type: builtin, tool_nam: x}
  - {tool_type: builtin, tool_name: y, tool_config: {password: "${NOT_SET}"}}
  - {tool_type: builtin, tool_name: good}
"""
    tools = registry_of(tmp_path, text)
    assert set(tools.tools) == {"good"}
    assert len(tools.problems) == 2
    assert "did you mean 'tool_name'" in tools.problems[0].message
    assert "NOT_SET" in tools.problems[1].message


def test_tools_are_hidden_from_callers_without_the_scopes(tmp_path: Path) -> None:
    """`agent:<name>:invoke` implies all tools but those with scopes of their own, of the entry or of the manifest."""
    tools = registry_of(tmp_path, AGENT)
    served = catalog("get_forecast")

    def visible(*scopes: str, catalog: ToolsByPool = served) -> list[str]:
        return [one.tool.exposed_name for one in tools.visible_tools(ScopeSet(scopes), catalog)]

    assert visible() == []
    assert visible("tool:weather:read") == []
    assert visible("agent:other:invoke", "tool:*:*") == []
    assert visible("agent:weather_agent:invoke") == ["get_city_forecast"]
    assert visible("agent:*:invoke", "tool:weather:read") == ["get_forecast", "get_city_forecast"]
    assert visible("*") == ["get_forecast", "get_city_forecast"]
    guarded = catalog("get_forecast", required_scopes=("tool:secret:use",))
    assert visible("agent:weather_agent:invoke", catalog=guarded) == []
    assert visible("agent:weather_agent:invoke", "tool:secret:use", catalog=guarded) == ["get_city_forecast"]


def test_an_agents_own_scopes_guard_all_its_tools(tmp_path: Path) -> None:
    """An agent may ask for more than the right to be called."""
    text = "agent_name: a\nrequired_scopes: ['team:x:member']\ntools: [{tool_type: builtin, tool_name: t}]\n"
    tools = registry_of(tmp_path, text)
    assert tools.visible_tools(ScopeSet(["agent:a:invoke"]), catalog("t")) == ()
    assert len(tools.visible_tools(ScopeSet(["agent:a:invoke", "team:x:member"]), catalog("t"))) == 1


def test_tools_without_a_worker_are_told_and_not_shown(tmp_path: Path) -> None:
    """A tool that nobody serves, or that several pools serve, can't be called; the rest can."""
    tools = registry_of(tmp_path, AGENT)
    problems = tools.unserved({})
    assert [(problem.tool, problem.code) for problem in problems] == [
        ("weather_agent/get_forecast", ErrorCode.TOOL_NOT_AVAILABLE),
        ("weather_agent/get_city_forecast", ErrorCode.TOOL_NOT_AVAILABLE),
    ]
    two = {pool: {"get_forecast": catalog_entry("get_forecast", pool=pool)} for pool in ("a", "b")}
    assert {problem.code for problem in tools.unserved(two)} == {ErrorCode.INVALID_REQUEST}
    assert tools.visible_tools(ScopeSet(["*"]), two) == ()
    assert tools.unserved(catalog("get_forecast")) == ()
