"""The context and tool_config reach a tool in every form an author may write, or are simply absent."""

import json

import pytest
from tests.support.tool_process import ToolProcess

FORMS = [
    "ctx: SandboxToolContextFacade, x: str",
    "x: str, ctx: SandboxToolContextFacade",
    "x: str, ctx: SandboxToolContextFacade = None",
    "x: str, ctx: Optional[SandboxToolContextFacade] = None",
    "x: str, ctx: SandboxToolContextFacade | None = None",
    "x: str, ctx: 'SandboxToolContextFacade'",
    "x: str, ctx: 'Optional[SandboxToolContextFacade]' = None",
    "x: str, ctx: 'Optional[ToolContextFacade]' = None",
    "x: str, ctx: 'ToolContext'",
    "x: str, ctx: ToolContext = None",
    "x: str, ctx: Annotated[ToolContext, 'the context']",
    "x: str, *, ctx: ToolContext",
    "ctx: ToolContext, /, x: str",
    "x: str, ctx=None",
    "x: str, context=None",
    "x: str, tool_context=None",
    "x: str, tool_context: Any = None",
    "x: str, tool_context: 'Unknown'",
    "ctx, x: str",
    "tool_context, x: str",
    "first: ToolContext, x: str, second: ToolContext",
    "tool_config, x: str, ctx: ToolContext",
]

HEADER = """
{future}
import json, sys
from typing import Annotated, Any, Optional
from toolmesh_sdk import (
    DynamicToolProvider, SandboxToolContextFacade, ToolContext, ToolResult, provider_cli, tool_cli
)

class Provider(DynamicToolProvider):
    def create_tools(self, tool_config=None):
        return []
"""

FUNCTION = """
{form} run_{number}({parameters}):
    "Send a status and give back x."
    given = next(value for name, value in locals().items() if hasattr(value, "send_status"))
    given.send_status("from {number}")
    assert all(value.user_id == "u-1" for value in locals().values() if hasattr(value, "send_status"))
    return x + given.get_config_string("suffix")
"""


def source_of_all_forms(style: str, future: str) -> str:
    """Return a tool file that has every form and runs each of them, one call after the other."""
    source = HEADER.format(future=future)
    for number, parameters in enumerate(FORMS):
        if style == "function":
            source += FUNCTION.format(form="def", number=number, parameters=parameters)
            source += f"sys.argv[1] = 'arguments-{number}.json'\ntool_cli(run_{number})()\n"
        else:
            inside = "self, /, " if "/" in parameters else "self, "
            source += "@Provider.register_tool" + FUNCTION.format(
                form="async def", number=number, parameters=inside + parameters.replace(" /,", "")
            )
    if style == "provider":
        source += "if '--schema' in sys.argv:\n    provider_cli(Provider)()\nelse:\n"
        source += f"    for number in range({len(FORMS)}):\n"
        source += "        sys.argv[1] = f'arguments-{number}.json'\n        provider_cli(Provider)()\n"
    return source


@pytest.mark.parametrize("style", ["function", "provider"])
@pytest.mark.parametrize("future", ["", "from __future__ import annotations"], ids=["evaluated", "postponed"])
def test_the_context_arrives_in_every_form(tool: ToolProcess, style: str, future: str) -> None:
    """All forms of parameters, sync in functions and async in providers."""
    tool.write(source_of_all_forms(style, future))
    for number in range(len(FORMS)):
        arguments = {
            "tool_name": f"run_{number}",
            "args": {"x": f"v{number}"},
            "tool_config": {"suffix": "!"},
            "user_id": "u-1",
            "result_file": f"result-{number}.json",
            "status_pipe": "status",
        }
        (tool.folder / f"arguments-{number}.json").write_text(json.dumps(arguments))
    (tool.folder / "status").touch()
    code, _, stderr = tool.run("each in turn")
    assert code == 0, stderr
    for number, parameters in enumerate(FORMS):
        envelope = json.loads((tool.folder / f"result-{number}.json").read_text())
        assert envelope == {"result": {"text": f"v{number}!", "data_objects": []}, "error": ""}, parameters
    lines = (tool.folder / "status").read_text().splitlines()
    assert [json.loads(line)["status"] for line in lines] == [f"from {number}" for number in range(len(FORMS))]


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"], ids=["evaluated", "postponed"])
def test_the_model_never_sees_the_context(tool: ToolProcess, future: str) -> None:
    """In no form is it among the parameters."""
    tool.write(source_of_all_forms("provider", future))
    expected = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    for name, entry in tool.schema().items():
        assert entry["parameters"] == expected, FORMS[int(name.removeprefix("run_"))]


@pytest.mark.parametrize("parameters", ["", "x: str = 'v'", "x='v', **rest", "x='v', /"])
def test_a_tool_without_a_context_is_called_without_one(tool: ToolProcess, parameters: str) -> None:
    """The published SDK passed one anyway, and failed."""
    tool.write(
        f"""
        from toolmesh_sdk import tool_cli

        def run({parameters}):
            "Say that it ran."
            return "ran"

        tool_cli(run)()
        """
    )
    assert tool.call().result["text"] == "ran"


def test_the_oldest_form_gets_synchronous_artifacts(tool: ToolProcess) -> None:
    """`def f(ctx, x)` was written for a context whose methods take argument names and do not wait."""
    (tool.folder / "doc.txt").write_text("content")
    tool.write(
        """
        from toolmesh_sdk import tool_cli

        def run(ctx, doc: str):
            "Read a document."
            return [ctx.load_artifact_text("doc"), ctx.list_artifacts(), ctx.load_artifact("none"), ctx.app_name]

        tool_cli(run)()
        """
    )
    path = str(tool.folder / "doc.txt")
    outcome = tool.call({"doc": "doc.txt"}, artifact_paths={"doc": path}, app_name="agent")
    assert outcome.result["text"] == f'["content", {{"doc": "{path}"}}, null, "agent"]'


def test_tool_config_reaches_every_style(tool: ToolProcess) -> None:
    """As a parameter, typed or not, as `self.tool_config` of providers and class tools, and through the context."""
    tool.write(
        """
        from dataclasses import dataclass
        from toolmesh_sdk import ConfigSchemaField, DynamicTool, DynamicToolProvider, provider_cli, with_config_schema

        @dataclass
        class Settings:
            city: str
            days: int = 3

        class ClassTool(DynamicTool):
            tool_name = "klass"
            tool_description = "A class tool."
            parameters_schema = {"type": "object", "properties": {}}
            def _run_async_impl(self, args, tool_context=None, credential=None):
                return self.tool_config

        @with_config_schema([ConfigSchemaField("days", "integer", default=5)])
        class Provider(DynamicToolProvider):
            def create_tools(self, tool_config=None):
                return [ClassTool(tool_config)]

        @Provider.register_tool
        def plain(tool_config, ctx=None):
            "Give back."
            assert tool_config["city"] == ctx.get_config("city")
            return tool_config

        @Provider.register_tool
        def of_self(self):
            "Give back."
            return self.tool_config

        @Provider.register_tool
        def typed(tool_config: Settings):
            "Give back."
            return tool_config

        provider_cli(Provider)()
        """
    )
    config = {"_str_binary": "x", "city": "Oslo"}
    assert tool.call(tool_name="plain", tool_config=config).result == {**config, "days": 5}
    assert tool.call(tool_name="of_self", tool_config=config).result == {**config, "days": 5}
    assert tool.call(tool_name="typed", tool_config=config).result == {"city": "Oslo", "days": 5}
    assert tool.call(tool_name="klass", tool_config=config).result == config


@pytest.mark.parametrize(
    "definition",
    [
        "async def work(x: str):\n    'Do.'\n    return x",
        "async def inner(x: str): return x\ndef work(x: str):\n    'Do.'\n    return inner(x)",
        "class Callable_:\n    'Do.'\n    async def __call__(self, x: str): return x\nwork = Callable_()",
        "class Callable_:\n    def __call__(self, x: str):\n        'Do.'\n        return x\nwork = Callable_()",
        "def full(y: int, x: str):\n    'Do.'\n    return x\nwork = functools.partial(full, 1)",
        "def passed(f):\n    @functools.wraps(f)\n    def g(*a, **k): return f(*a, **k)\n    return g\n"
        "@passed\nasync def work(x: str):\n    'Do.'\n    return x",
        "class Holder:\n    def work(self, x: str):\n        'Do.'\n        return x\nwork = Holder().work",
    ],
)
def test_every_kind_of_callable_is_a_tool_and_awaitables_are_awaited(tool: ToolProcess, definition: str) -> None:
    """A coroutine object is no result: the published SDK reported its repr as success."""
    tool.write("import functools\nfrom toolmesh_sdk import tool_cli\n" + definition + "\ntool_cli(work)()\n")
    assert tool.call({"x": "done"}).result["text"] == "done"
    (entry,) = tool.schema().values()
    assert entry["description"] == "Do."
    assert entry["parameters"]["required"] == ["x"]


def test_the_context_says_who_calls_and_what_is_mounted(tool: ToolProcess) -> None:
    """Everything the arguments file carries is where the published interface has it."""
    tool.write(
        """
        from toolmesh_sdk import tool_cli

        def run(ctx=None):
            "Tell."
            try:
                ctx.send_signal({})
            except NotImplementedError:
                refused = True
            return {
                "who": [ctx.user_id, ctx.session_id, ctx.app_name, ctx.task_id, ctx.auth_token, ctx.get_auth_token()],
                "profile": ctx.user_profile, "state": ctx.state["a2a_context"]["a2a_user_config"]["_caps"],
                "mounts": [repr(mount) for mount in ctx.volume_mounts],
                "path": [ctx.get_volume_mount_path("/work/v"), ctx.get_volume_mount_path("/no")],
                "config": [ctx.get_config("n"), ctx.get_config_string("n", "d"), ctx.get_config("x", 1)],
                "raw": ctx.raw_tool_context, "refused": refused, "text": repr(ctx),
            }

        tool_cli(run)()
        """
    )
    outcome = tool.call(
        user_id="u",
        session_id="s",
        app_name="a",
        task_id="t",
        tool_oauth_token="o",
        tool_config={"n": 7},
        a2a_user_config='{"user_profile": {"id": "u-1"}, "_caps": ["x"]}',
        volume_mounts=[{"volume_id": "v1", "mount_path": "/work/v", "read_only": True}],
    )
    assert outcome.result == {
        "who": ["u", "s", "a", "t", "o", "o"],
        "profile": {"id": "u-1"},
        "state": ["x"],
        "mounts": ["VolumeMount('v1', '/work/v', read_only=True)"],
        "path": ["/work/v", None],
        "config": [7, "d", 1],
        "raw": None,
        "refused": True,
        "text": "SandboxToolContextFacade(app='a', user='u', session='s')",
    }
