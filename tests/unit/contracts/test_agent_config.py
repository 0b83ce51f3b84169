"""Agents and their tools."""

from pathlib import Path
from typing import Any

import pytest

from toolmesh_contracts.agent_config.agent import AgentConfig, ModelSettings
from toolmesh_contracts.agent_config.entries import BuiltinEntry, BuiltinGroupEntry
from toolmesh_contracts.agent_config.loading import AgentFile, load_agent_file
from toolmesh_contracts.agent_config.mcp import BearerAuth, HttpConnection, McpEntry, McpOAuth2, StdioConnection
from toolmesh_contracts.agent_config.openapi import DEFAULT_RESPONSE_BYTES, ApiKeyAuth, OpenApiEntry, OpenApiOAuth2
from toolmesh_contracts.config_problems import ConfigError

BUILTIN = "      - {tool_type: builtin, tool_name: web_request}\n"
MCP = "tool_type: mcp, connection_params: {type: streamable-http, url: 'https://mcp.example.com/v1'}"
STDIO = "tool_type: mcp, connection_params: {type: stdio, command: /bin/server}"
OPENAPI = "tool_type: openapi, specification_url: 'https://api.example.com/openapi.json'"


def load(folder: Path, text: str, **environment: str) -> AgentFile:
    """Write a file of agents and load it."""
    path = folder / "agent.yaml"
    path.write_text(text)
    return load_agent_file(path, environment)


def entry(folder: Path, text: str, **environment: str) -> Any:
    """Return one sound entry."""
    agent = load(folder, f"agents:\n  - name: a\n    tools:\n      - {{{text}}}\n", **environment).agents[0]
    assert [str(problem) for tool in agent.failed_tools for problem in tool.problems] == []
    return agent.config.tools[0]


def failure(folder: Path, text: str) -> str:
    """Return the problems of an entry that must fail while its neighbour loads."""
    agent = load(folder, f"agents:\n  - name: a\n    tools:\n{BUILTIN}      - {{{text}}}\n").agents[0]
    assert [tool.entry.tool_type for tool in agent.tools] == ["builtin"]
    assert [tool.position for tool in agent.failed_tools] == [1]
    return "\n".join(str(problem) for problem in agent.failed_tools[0].problems)


def test_list_form_with_the_published_shape(tmp_path: Path) -> None:
    """A list of agents, each with a name, a model and built-in tools."""
    text = """\
agents:
  - name: research_agent
    model: anthropic/claude-sonnet-4-5
    tools:
      - tool_type: builtin
        tool_name: web_request
      - tool_type: builtin-group
        group_name: artifact_management
  - name: other
"""
    loaded = load(tmp_path, text)

    assert [agent.config.name for agent in loaded.agents] == ["research_agent", "other"]
    first, second = loaded.agents[0].config.tools
    assert isinstance(first, BuiltinEntry)
    assert isinstance(second, BuiltinGroupEntry)
    assert (first.remote_name, first.is_renamed) == ("web_request", False)
    assert loaded.agents[0].tools[1].line == 7


def test_single_form(tmp_path: Path) -> None:
    """One agent at the top of the file is the same as a list of one."""
    text = "agent_name: a\nnamespace: demo\nmodel: {model: m, temperature: 0.5}\ntools:\n  - {tool_type: builtin, tool_name: t}\n"
    config = load(tmp_path, text).agents[0].config

    assert isinstance(config, AgentConfig)
    assert (config.name, config.namespace) == ("a", "demo")
    assert isinstance(config.model, ModelSettings)
    assert config.model.model_extra == {"temperature": 0.5}
    assert config.tools[0].tool_type == "builtin"


def test_defaults_are_the_published_ones(tmp_path: Path) -> None:
    """An agent that says only its name."""
    config = load(tmp_path, "agent_name: a\n").agents[0].config

    assert config.max_llm_calls_per_task == 30
    assert (config.enable_auto_continuation, config.supports_streaming) == (True, False)
    assert config.max_message_size_bytes == 10_000_000
    assert (config.tool_output_save_threshold_bytes, config.tool_output_llm_return_max_bytes) == (4096, 8192)
    assert config.agent_card_publishing.interval_seconds == 60
    assert config.agent_discovery.health_check_ttl_seconds == 300
    assert config.inter_agent_communication.allow_list == ("*",)
    assert config.max_call_depth == 6
    assert config.auto_summarization.compaction_percentage == 0.25
    assert (config.auto_inject_artifact_tools, config.auto_inject_data_analysis_tools) == (True, True)
    assert config.session_service.type == "memory"


def test_every_agent_key_is_accepted(tmp_path: Path) -> None:
    """A file with each published key loads."""
    text = """\
agent_name: a
display_name: A
namespace: demo
model: m
tool_models: [n]
instruction: Be brief.
skills: [s]
skills_base_path: skills
required_scopes: ["agent:a:invoke"]
agent_card: {description: d, defaultInputModes: [text], skills: [{id: x}]}
session_service: {type: sql, database_url: "sqlite:///x", default_behavior: RUN_BASED}
artifact_service: {type: s3, bucket_name: b, artifact_scope: agent, endpoint_url: "https://s3.example.com"}
max_llm_calls_per_task: 5
enable_auto_continuation: no
supports_streaming: yes
stream_batching_threshold_bytes: 0
max_message_size_bytes: 1
tool_output_save_threshold_bytes: 1
tool_output_llm_return_max_bytes: 1
agent_card_publishing: {interval_seconds: 1}
agent_discovery: {enabled: false, health_check_ttl_seconds: 1, health_check_interval_seconds: 1}
inter_agent_communication: {allow_list: [b], deny_list: [c], request_timeout_seconds: 1}
max_call_depth: 1
enable_embed_resolution: false
enable_artifact_content_instruction: false
artifact_handling_mode: embed
auto_summarization: {enabled: false, compaction_percentage: 0.5}
input_schema: {type: object}
output_schema: {type: object}
auto_inject_artifact_tools: false
auto_inject_data_analysis_tools: false
schema_inference_depth: 1
data_tools_config: {sqlite_memory_threshold_mb: 1, max_result_preview_rows: 1, max_result_preview_bytes: 1}
enable_inline_vision: true
tool_defaults: {a: 1}
tools: []
"""
    config = load(tmp_path, text).agents[0].config

    assert config.model_fields_set == set(AgentConfig.model_fields)
    assert (config.supports_streaming, config.enable_auto_continuation) == (True, False)


def test_renamed_remote_tools(tmp_path: Path) -> None:
    """`_str_binary` sends a differently named entry to one tool of the worker."""
    tool = entry(tmp_path, "tool_type: builtin, tool_name: orders, tool_config: {_str_binary: execute_sql_query}")

    assert (tool.tool_name, tool.remote_name, tool.is_renamed) == ("orders", "execute_sql_query", True)


def test_tool_defaults_are_merged_and_the_tool_wins(tmp_path: Path) -> None:
    """File, agent, entry: each later one replaces a key of the earlier."""
    text = """\
tool_defaults: {region: file, a: 1}
agents:
  - name: a
    tool_defaults: {region: agent, b: {x: 1}}
    tools:
      - {tool_type: builtin, tool_name: t, tool_config: {region: tool, b: {y: 2}}}
      - {tool_type: builtin, tool_name: u}
"""
    first, second = load(tmp_path, text).agents[0].config.tools

    assert first.tool_config == {"region": "tool", "a": 1, "b": {"y": 2}}
    assert second.tool_config == {"region": "agent", "a": 1, "b": {"x": 1}}


def test_secret_paths_name_what_came_from_variables(tmp_path: Path) -> None:
    """Also when it came through the defaults; what the tool replaced is no secret. Unquoted numbers are numbers."""
    text = """\
tool_defaults: {token: "${TOKEN}", replaced: "${TOKEN}"}
agents:
  - name: a
    tools:
      - tool_type: builtin
        tool_name: t
        tool_config:
          replaced: open
          db:
            url: postgres://u:${PASSWORD}@h/d
            port: ${PORT}
          list:
            - x
            - "${PORT}"
            - ${FLAG, false}
"""
    tool = load(tmp_path, text, TOKEN="t0k", PASSWORD="pw", PORT="5432").agents[0].tools[0]

    assert tool.entry.tool_config == {
        "token": "t0k",
        "replaced": "open",
        "db": {"url": "postgres://u:pw@h/d", "port": 5432},
        "list": ["x", "5432", False],
    }
    assert tool.secret_paths == {("token",), ("db", "url"), ("db", "port"), ("list", 1), ("list", 2)}


def test_mcp_entries(tmp_path: Path) -> None:
    """The published stdio, bearer and OAuth entries, with every other key."""
    stdio = entry(tmp_path, f"{STDIO}, tool_name_prefix: fs, environment_variables: {{A: b}}, tool_name: x")
    assert isinstance(stdio, McpEntry)
    assert isinstance(stdio.connection_params, StdioConnection)

    bearer = entry(
        tmp_path,
        "tool_type: mcp, connection_params: {type: sse, url: 'https://x', timeout: 5, headers: {X-API-Key: k}, "
        "ssl_config: {verify: true, ca_bundle: a, client_cert: b, client_key: c}}, "
        "auth: {type: bearer, credential: {token: '${T}'}}, allow_list: [a], credential_key: k, "
        "manifest: [{name: a, description: d, inputSchema: {type: object}, annotations: {}}]",
        T="secret",
    )
    assert isinstance(bearer.connection_params, HttpConnection)
    assert isinstance(bearer.auth, BearerAuth)
    assert bearer.auth.credential.token == "secret"
    assert bearer.manifest[0].input_schema == {"type": "object"}

    oauth = entry(
        tmp_path,
        f"{MCP}, auth: {{type: oauth2, credential: {{client_id: a, client_secret: b}}, "
        "scheme: {authorization_url: 'https://i/a', token_url: 'https://i/t', scopes: [x], disable_pkce: true}}",
    )
    assert isinstance(oauth.auth, McpOAuth2)
    for auth in (
        "{type: oauth2}",
        "{type: oauth2, credential: {client_id: a}}",
        "{type: none}",
        "{type: basic, credential: {username: u, password: ''}}",
        "{type: headers, headers: {A: b}}",
    ):
        assert entry(tmp_path, f"{MCP}, auth: {auth}").auth is not None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tool_type: mcp, tool_name: query_database", "connection_params: this key is required: How the server"),
        ("tool_type: mcp, connection_params: {url: 'https://x'}", "type: this key is required; allowed: sse, stdio"),
        ("tool_type: mcp, connection_params: {type: http, url: 'https://x'}", "allowed: sse, stdio, streamable-http"),
        (f"{MCP}, allow_list: [a], deny_list: [b]", "allow_list and deny_list exclude each other"),
        (f"{MCP}, allow_list: [], tool_name: b", "allow_list and tool_name exclude each other"),
        (f"{MCP}, deny_list: [a], tool_name: b", "deny_list and tool_name exclude each other"),
        (f"{MCP}, manifest: [], manifest_file: b", "manifest and manifest_file exclude each other"),
        (f"{MCP[:-1]}, ssl_config: {{client_cert: a}}}}", "client_cert and client_key belong together"),
        (f"{MCP[:-1]}, ssl_config: {{client_key: a}}}}", "client_cert and client_key belong together"),
        (f'{MCP[:-1]}, headers: {{A: "b\\r\\nX: y"}}}}', "must not hold line breaks"),
        (f"{MCP[:-1]}, headers: {{'A B': c}}}}", "characters that HTTP does not allow"),
        (f"{MCP[:-1]}, comand: x}}", "unknown key; allowed: headers, ssl_config, timeout, type, url"),
        (f"{MCP}, auth: {{type: beerer}}", "did you mean 'bearer'?"),
        (f"{MCP}, auth: {{type: bearer, credential: {{}}}}", "auth.credential.token: this key is required"),
        (f"{MCP}, auth: {{type: headers}}", "needs `auth.headers`"),
        (f"{MCP}, auth: {{type: headers, headers: [1]}}", "auth.headers: should be a mapping"),
        (
            f"{MCP}, auth: {{type: oauth2, credential: {{client_id: a}}, scheme: {{token_url: 'https://t'}}}}",
            "scheme.auth",
        ),
        (
            f"{MCP}, auth: {{type: oauth2, scheme: {{token_url: 'https://t', authorization_url: 'https://a'}}}}",
            "`scheme` needs `credential.client_id`",
        ),
        (f"{MCP}, environment_variables: {{A: b}}", "for stdio servers"),
        (f"{STDIO[:-1]}, url: 'https://x'}}", "url: unknown key; allowed: args, command, env, timeout, type"),
        (f"{STDIO}, auth: {{type: bearer, credential: {{token: t}}}}", "for servers with a URL"),
        ("tool_type: mcp, connection_params: {type: sse, url: 'file:///x'}", "https:// or http://"),
        ("tool_type: mpc", "did you mean 'mcp'?"),
        ("tool_type: python, component_module: x", "allowed: builtin, builtin-group, mcp, openapi"),
        ("tool_name: x", "tool_type: this key is required; allowed: builtin, builtin-group, mcp, openapi"),
        ("tool_type: builtin", "tool_name: this key is required"),
        ("tool_type: builtin, tool_name: peer_x", "other agents"),
        ("tool_type: builtin, tool_name: 'a b'", "this name is not allowed"),
        ("tool_type: builtin, tool_name: x, tool_config: {_str_binary: 5}", "should be the name of a tool"),
        ("tool_type: builtin, tool_name: x, tool_config: {_str_binary: peer_y}", "other agents"),
        ("tool_type: builtin, tool_name: x, tool_config: [1]", "tool_config: should be a mapping"),
        ("tool_type: builtin, tool_name: x, required_scopes: ['a:b']", "required_scopes[0]: this is no scope"),
        ("tool_type: builtin, tool_name: x, hil: {timeout: soon}", "a time such as 45m"),
        ("tool_type: builtin, tool_name: x, hil: {timeout: 0}", "a time such as 45m"),
        ("tool_type: builtin, tool_name: x, tool_confg: {}", "did you mean 'tool_config'?"),
        ("tool_type: builtin-group, group_name: artifact_managment", "did you mean 'artifact_management'?"),
        ("tool_type: builtin, tool_name: '${NOT_SET}'", "NOT_SET is not set"),
    ],
)
def test_a_bad_entry_fails_alone(tmp_path: Path, text: str, reason: str) -> None:
    """The problem names file, line, key and cure; the agent starts with its other tools."""
    problem = failure(tmp_path, text)

    assert reason in problem
    assert "agent.yaml:5: agents[0].tools[1]" in problem


def test_openapi_entries(tmp_path: Path) -> None:
    """The published entry, every kind of credentials, nested or flat."""
    tool = entry(
        tmp_path,
        f"{OPENAPI}, base_url: 'https://api.example.com', headers: {{A: b}}, use_pkce: true, allow_list: [getPet], "
        "auth: {type: apikey, name: X-API-Key, value: '${KEY}', in: query}",
        KEY="k",
    )
    assert isinstance(tool, OpenApiEntry)
    assert isinstance(tool.auth, ApiKeyAuth)
    assert (tool.auth.value, tool.auth.location) == ("k", "query")

    nested = (
        "{type: oauth2, credential: {client_id: a, client_secret: b}, scheme: {token_url: 'https://t', scopes: [x]}}"
    )
    flat = "{type: oauth2, client_id: a, client_secret: b, token_url: 'https://t', scopes: [x]}"
    code = "{type: oauth2, client_id: a, authorization_url: 'https://a', token_url: 'https://t'}"
    assert entry(tmp_path, f"{OPENAPI}, auth: {nested}").auth == entry(tmp_path, f"{OPENAPI}, auth: {flat}").auth
    assert isinstance(entry(tmp_path, f"{OPENAPI}, auth: {code}").auth, OpenApiOAuth2)
    for auth in (
        "{type: none}",
        "{type: bearer, token: t}",
        "{type: bearer, credential: {token: t}}",
        "{type: basic, username: u, password: p}",
        "{type: serviceaccount, service_account_json: '{}'}",
    ):
        assert entry(tmp_path, f"{OPENAPI}, auth: {auth}").auth is not None
    inline = entry(
        tmp_path, "tool_type: openapi, specification: {openapi: 3.1.0, paths: {}}, specification_format: json"
    )
    assert inline.specification == {"openapi": "3.1.0", "paths": {}}


@pytest.mark.parametrize(
    ("size", "expected"),
    [("1", 1), ("52428800", 52428800), ("", DEFAULT_RESPONSE_BYTES), ("''", DEFAULT_RESPONSE_BYTES), ("'512'", 512)],
)
def test_good_response_sizes(tmp_path: Path, size: str, expected: int) -> None:
    """A whole number of bytes up to 50 MiB; empty is the default."""
    assert entry(tmp_path, f"{OPENAPI}, max_response_size: {size}").max_response_size == expected


@pytest.mark.parametrize(
    "size", ["0", "-1", "52428801", "10MB", "1.5", "1e3", "true", "ten", "[]", "'" + "9" * 5000 + "'"]
)
def test_a_bad_response_size_costs_only_its_toolset(tmp_path: Path, size: str) -> None:
    """Never silently the default, and never the whole agent."""
    assert "max_response_size: a whole number of bytes" in failure(tmp_path, f"{OPENAPI}, max_response_size: {size}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "tool_type: openapi",
            "exactly one of specification_url, specification_file, specification is needed; found none",
        ),
        (f"{OPENAPI}, specification_file: x", "found specification_url and specification_file"),
        (f"{OPENAPI}, allow_list: [a], deny_list: [b]", "exclude each other"),
        (f"{OPENAPI}, auth: {{type: apikey, name: a}}", "auth.value: this key is required"),
        (f"{OPENAPI}, auth: {{type: apikey, name: a, value: b, in: body}}", "allowed: header, query, cookie"),
        (f"{OPENAPI}, auth: {{type: oauth2, client_id: a}}", "auth.scheme: this key is required"),
        (
            f"{OPENAPI}, auth: {{type: oauth2, client_id: a, scopes: [x]}}",
            "auth.token_url: this key is required",
        ),
        (f"{OPENAPI}, auth: {{type: oauth2, client_id: a, token_url: 'https://t'}}", "needs client_secret"),
        (f"{OPENAPI}, auth: {{type: bearer, token: a, credential: {{token: b}}}}", "not both"),
        (f"{OPENAPI}, auth: {{type: bearer, token: a, credential: 5}}", "not both"),
        (f"{OPENAPI}, auth: bearer", "auth: should be a mapping"),
        (f"{OPENAPI}, auth: {{type: oauth2, credential: [1]}}", "auth.credential: should be a mapping"),
        (f"{OPENAPI}, tool_name_prefix: x", "unknown key"),
    ],
)
def test_bad_openapi_entries_fail_alone(tmp_path: Path, text: str, reason: str) -> None:
    """The toolset is left out with its reason."""
    assert reason in failure(tmp_path, text)


def test_approval_times(tmp_path: Path) -> None:
    """`45m`, `1h30m`, `90s` and plain seconds."""
    for written, seconds in {"45m": 2700, "1h30m": 5400, "90s": 90, "0.5s": 0.5, "60": 60}.items():
        tool = entry(tmp_path, f"tool_type: builtin, tool_name: t, hil: {{require_approval: true, timeout: {written}}}")
        assert tool.hil.timeout == seconds
    assert entry(tmp_path, "tool_type: builtin, tool_name: t, hil: {}").hil.timeout == 2700


def test_a_bad_agent_leaves_the_others(tmp_path: Path) -> None:
    """A wrong key, a repeated name, an unset variable and a non-mapping each cost one agent."""
    text = """\
namespace: demo
agents:
  - name: good
  - {name: b, max_call_dept: 1}
  - {name: good}
  - {name: c, instruction: "${UNSET}"}
  - d
  - {name: e, tools: {a: 1}}
"""
    loaded = load(tmp_path, text)

    assert [agent.config.name for agent in loaded.agents] == ["good"]
    assert loaded.agents[0].config.namespace == "demo"
    shown = [str(problem) for problem in loaded.problems]
    assert len(shown) == 5
    assert "did you mean 'max_call_depth'?" in shown[0]
    assert "agents[2].name: another agent of this file has the same name" in shown[1]
    assert "agents[3].instruction: the environment variable UNSET is not set" in shown[2]
    assert "agents[4]: should be a mapping" in shown[3]
    assert "agents[5].tools: should be a list" in shown[4]


def test_failed_entries_have_a_label(tmp_path: Path) -> None:
    """A tool's name, a group's, else the kind or the place."""
    text = "agent_name: a\ntools:\n  - {tool_name: t}\n  - {group_name: g}\n  - {tool_type: x}\n  - 5\n"
    failed = load(tmp_path, text).agents[0].failed_tools

    assert [tool.label for tool in failed] == ["t", "g", "x", "tools[3]"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "should be a mapping"),
        ("tools: []", "either `agent_name` (one agent) or `agents` (a list)"),
        ("agents: {}", "agents: should be a list"),
        ("agents: []", "agents: should be a list of at least one agent"),
        (
            "agent: x\nagents: [{name: a}]",
            "unknown key; did you mean 'agents'?; allowed: agents, namespace, tool_defaults",
        ),
        ("agent_name: a\nagents: [{name: b}]", "agent_name: unknown key"),
        ("tool_defaults: {a: '${UNSET}'}\nagents: [{name: a}]", "UNSET is not set"),
        ("agent_name: 'a b'", "agent_name: this name is not allowed"),
        ("agent_name: a\nsession_service: {type: sql}", "session_service: type `sql` needs `database_url`"),
        ("agent_name: a\nmax_llm_calls_per_task: true", "not true or false"),
        ("agent_name: '${UNSET}'", "UNSET is not set"),
        ("agents: [{name: a, tools: 3}, {nam: b}]", "agents[1].name: this key is required"),
    ],
)
def test_a_file_without_a_usable_agent_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    """Nothing to start is an error, with every problem in it."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)

    assert reason in str(caught.value)


@pytest.mark.requirement("config:validated")
def test_all_that_is_wrong_with_a_file_is_told_at_once(tmp_path: Path) -> None:
    """The file's keys, agents, their tools and unset variables: nothing waits until something else is mended."""
    text = """\
agentss: 1
agents:
  - name: a
    modell: x
    instruction: ${UNSET}
    tools:
      - {tool_type: builtn}
      - {tool_type: builtin, tool_name: t, tool_confg: {}, required_scopes: ["${MISSING}"]}
  - name: b
    tools:
      - {tool_type: builtin}
"""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)

    assert [(problem.line, problem.path[-1]) for problem in caught.value.problems] == [
        (1, "agentss"),
        (5, "instruction"),
        (4, "modell"),
        (7, "tool_type"),
        (8, 0),
        (8, "tool_confg"),
        (11, "tool_name"),
    ]


def test_no_problem_shows_a_secret(tmp_path: Path) -> None:
    """A variable's value stays out of messages, also when it is what is wrong."""
    text = """\
agents:
  - name: a
    tools:
      - tool_type: mcp
        connection_params: {type: sse, url: "${SECRET}", timeout: "${SECRET}"}
        auth: {type: "${SECRET}", credential: {token: [hunter2]}}
        required_scopes: ["${SECRET}"]
      - tool_type: "${SECRET}"
"""
    agent = load(tmp_path, text, SECRET="s3cret-value").agents[0]
    shown = "\n".join(str(problem) for tool in agent.failed_tools for problem in tool.problems)

    assert len(agent.failed_tools) == 2
    assert "${SECRET}" in shown
    assert "s3cret-value" not in shown
    assert "hunter2" not in shown
    assert "s3cret-value" not in "".join(tool.label for tool in agent.failed_tools)
