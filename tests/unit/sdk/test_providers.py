"""Providers: registration in every place, isolation between classes, lifecycle, and the choice of a tool."""

from tests.support.tool_process import ToolProcess

FAMILY = """
    from toolmesh_sdk import DynamicTool, DynamicToolProvider, provider_cli, register_tool, tool_timeout

    class Base(DynamicToolProvider):
        def create_tools(self, tool_config=None):
            return None

        @Base.register_tool
        def in_body(self):
            "Registered under the class's own name, before that name exists."
            return type(self).__name__

        @register_tool
        async def marked(self):
            "Registered with the bare decorator."
            return "marked"

    @Base.register_tool
    @tool_timeout(7)
    def shared():
        "Registered after the body, without self."
        return "base"

    class Child(Base):
        pass

    @Child.register_tool
    def own():
        "Only the child has it."
        return "own"

    @Child.register_tool
    def shared():
        "Replaces the parent's."
        return "child"

    import sys
    provider_cli(Child if "child" in open("which").read() else Base)()
"""


def test_children_inherit_and_parents_learn_nothing_of_them(tool: ToolProcess) -> None:
    """In the published SDK a child's tools appeared in its parent and its siblings."""
    tool.write(FAMILY)
    (tool.folder / "which").write_text("base")
    assert list(tool.schema()) == ["in_body", "marked", "shared"]
    assert tool.schema()["shared"]["timeout_seconds"] == 7
    assert tool.call(tool_name="in_body").result["text"] == "Base"
    assert tool.call(tool_name="marked").result["text"] == "marked"
    assert "Base has no tool 'own' (it has in_body, marked, shared)" in tool.call(tool_name="own").error
    (tool.folder / "which").write_text("child")
    assert list(tool.schema()) == ["in_body", "marked", "shared", "own"]
    assert tool.call(tool_name="shared").result["text"] == "child"
    assert tool.call(tool_name="in_body").result["text"] == "Child"


def test_a_call_without_a_name_is_an_error_unless_there_is_only_one_tool(tool: ToolProcess) -> None:
    """The published SDK ended with 1 and no result."""
    tool.write(FAMILY)
    (tool.folder / "which").write_text("base")
    outcome = tool.call(tool_name="")
    assert "Base has no tool ''" in outcome.error
    assert outcome.envelope is not None
    assert outcome.envelope["error_detail"]["type"] == "UnknownToolError"
    tool.write(
        "from toolmesh_sdk import *\nclass P(DynamicToolProvider):\n    def create_tools(self, c=None): return []\n"
        "@P.register_tool\ndef only():\n    'Do.'\n    return 'ran'\nprovider_cli(P)()"
    )
    assert tool.call(tool_name="").result["text"] == "ran"


def test_init_and_cleanup_run_around_the_call_in_one_event_loop_also_when_it_fails(tool: ToolProcess) -> None:
    """The published commands never called them; what init opens in its loop, the tool can use."""
    tool.write(
        """
        import asyncio
        from toolmesh_sdk import DynamicTool, DynamicToolProvider, provider_cli

        def note(text):
            with open("log", "a") as file:
                file.write(text + "\\n")

        class Klass(DynamicTool):
            tool_name = "klass"
            tool_description = "A class tool."
            parameters_schema = {"type": "object", "properties": {}}
            def init(self, component=None, tool_config=None):
                note(f"tool init {tool_config['n']}")
            async def cleanup(self, component=None, tool_config=None):
                note("tool cleanup")
                raise RuntimeError("too late to matter")
            async def _run_async_impl(self, args, tool_context=None):
                return "ran"

        class P(DynamicToolProvider):
            def __init__(self):
                super().__init__()
                self.loop = None
            async def init(self, component=None, tool_config=None):
                self.loop = asyncio.get_running_loop()
                note("provider init")
            async def cleanup(self, component=None, tool_config=None):
                note(f"provider cleanup {self.loop is asyncio.get_running_loop()}")
            def create_tools(self, tool_config=None):
                return [Klass(tool_config)]

        @P.register_tool
        async def fail(self):
            "Fail."
            note(f"same loop {self.loop is asyncio.get_running_loop()}")
            raise ValueError("failed")

        provider_cli(P)()
        """
    )
    log = tool.folder / "log"
    assert "failed" in tool.call(tool_name="fail").error
    assert log.read_text().splitlines() == ["provider init", "same loop True", "provider cleanup True"]
    log.unlink()
    outcome = tool.call(tool_name="klass", tool_config={"n": 1})
    assert outcome.result["text"] == "ran"
    assert "too late to matter" in outcome.stderr
    assert log.read_text().splitlines() == [
        "provider init",
        "tool init 1",
        "tool cleanup",
        "provider cleanup True",
    ]


def test_methods_that_only_look_like_hooks_are_left_alone(tool: ToolProcess) -> None:
    """A provider of today may have an `init` of its own, with its own arguments."""
    tool.write(
        "from toolmesh_sdk import *\nclass P(DynamicToolProvider):\n    def init(self, database): raise RuntimeError\n"
        "    def create_tools(self, c=None): return []\n"
        "@P.register_tool\ndef only():\n    'Do.'\n    return 'ran'\nprovider_cli(P)()"
    )
    assert tool.call(tool_name="only").result["text"] == "ran"


def test_a_provider_lists_its_tools_for_programs() -> None:
    """`get_all_tools_for_framework` is part of the published interface."""
    from toolmesh_sdk import DynamicToolProvider

    class Listed(DynamicToolProvider):
        def create_tools(self, tool_config: dict[str, object] | None = None) -> list[object]:
            return [made]

    def made(x: int) -> int:
        """Give back x."""
        return x

    @Listed.register_tool
    def registered() -> str:
        """Say hello."""
        return "hello"

    tools = Listed().get_all_tools_for_framework({"k": 1})
    assert [tool.tool_name for tool in tools] == ["registered", "made"]
    assert [tool.tool_description for tool in tools] == ["Say hello.", "Give back x."]
    assert tools[1].parameters_schema["required"] == ["x"]
    assert tools[1].tool_config == {"k": 1}
