"""Tools made up by hypothesis: every style, many signatures, and every way to return, fail or misbehave."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from toolmesh_contracts.envelopes.reply import Outcome

# Annotation, values that fit it, and what the function must see.
PARAMETERS: dict[str, list[Any]] = {
    "str": ["", "x", "é\n\"'", "7"],
    "int": [0, -3, 2**53, "12"],
    "float": [0.5, 3, "1.25"],
    "bool": [True, False, "true"],
    "list[int]": [[], [1, 2]],
    "dict[str, int]": [{}, {"a": 1}],
    "Optional[int]": [None, 4],
    "Literal['a', 'b']": ["a", "b"],
    "Union[int, str]": [1, "one"],
    "tuple[int, str]": [[1, "x"]],
    "Any": [None, [1, {"a": None}]],
}

# How the body ends, whether that is a success, and whether the arguments come back in it.
ENDINGS: dict[str, tuple[str, set[Outcome], bool]] = {
    "echo_dict": ("return seen", {Outcome.OK}, True),
    "echo_result": ("return ToolResult.ok('done', data=seen)", {Outcome.OK}, True),
    "echo_dump": ("return ToolResult.ok('done', data=seen).model_dump()", {Outcome.OK}, True),
    "text": ("return 'plain'", {Outcome.OK}, False),
    "nothing": ("return None", {Outcome.OK}, False),
    "number": ("return 5", {Outcome.OK}, False),
    "nan": ("return {'x': float('nan')}", {Outcome.OK}, False),
    "noise": ("print('noise {'); return seen", {Outcome.OK}, True),
    "flood_status": ("[ctx_of().send_status('s' * 50) for _ in range(300)]; return seen", {Outcome.OK}, True),
    "thread": ("threading.Thread(target=time.sleep, args=(20,)).start(); return seen", {Outcome.OK}, True),
    "partial": ("return ToolResult.partial('half')", {Outcome.PARTIAL}, False),
    "pending": ("return ToolResult.pending('ask')", {Outcome.PENDING}, False),
    "error": ("return ToolResult.error('bad', code='E1')", {Outcome.ERROR}, False),
    "auth": ("return ToolResult.auth_required()", {Outcome.AUTH_REQUIRED}, False),
    "odd_status": ("return {'status': 'weird', 'message': 'm', '_schema': 'ToolResult'}", {Outcome.ERROR}, False),
    "raises": ("raise KeyError('gone')", {Outcome.ERROR}, False),
    "exits": ("sys.exit(0)", {Outcome.ERROR}, False),
    "dies": ("os._exit(0)", {Outcome.ERROR}, False),
    "dies_badly": ("os._exit(7)", {Outcome.ERROR}, False),
    "segfault": ("os.kill(os.getpid(), 11)", {Outcome.ERROR}, False),
    "recursion": ("return loop()", {Outcome.ERROR}, False),
    "unserialisable": ("return {'x': {(1, 2): object()}}", {Outcome.OK, Outcome.ERROR}, False),
    "garbage": ("open('result.json', 'w').write('{'); os._exit(0)", {Outcome.ERROR}, False),
    "fifo_result": ("os.mkfifo('result.json'); os._exit(0)", {Outcome.ERROR}, False),
    "too_slow": ("time.sleep(30)", {Outcome.ERROR}, False),
}

STYLES = ("function", "async function", "provider", "async provider")
CONTEXTS = ("", "ctx: ToolContext", "ctx: Optional[ToolContext] = None", "ctx=None")


@dataclass(frozen=True)
class GeneratedTool:
    """One tool, what to send to it, and what may come back."""

    style: str
    context: str
    parameters: tuple[tuple[str, Any], ...]
    ending: str

    @property
    def arguments(self) -> dict[str, Any]:
        """The call's arguments."""
        return {f"p{number}": value for number, (_, value) in enumerate(self.parameters)}

    @property
    def outcomes(self) -> set[Outcome]:
        """The right outcomes."""
        return ENDINGS[self.ending][1]

    @property
    def echoes(self) -> bool:
        """The arguments come back as data."""
        return ENDINGS[self.ending][2]

    def source(self, name: str) -> str:
        """The program."""
        takes_context = self.ending == "flood_status"
        context = "ctx: ToolContext" if takes_context else self.context
        own = ["self"] if "provider" in self.style else []
        fixed = [f"p{number}: {annotation}" for number, (annotation, _) in enumerate(self.parameters)]
        # Python wants parameters without a default first.
        signature = ", ".join(
            [
                *own,
                *([context] if context == "ctx: ToolContext" else []),
                *fixed,
                *([context] if "=" in context else []),
            ]
        )
        seen = ", ".join(f"'p{number}': p{number}" for number in range(len(self.parameters)))
        body = ENDINGS[self.ending][0].replace("ctx_of()", "ctx")
        coroutine = "async " if self.style.startswith("async") else ""
        function = f'{coroutine}def {name}({signature}):\n    """Do it."""\n    seen = {{{seen}}}\n    {body}\n'
        head = (
            "import os, sys, threading, time\n"
            "from typing import Any, Literal, Optional, Union\n"
            "from toolmesh_sdk import DynamicToolProvider, ToolContext, ToolResult, provider_cli, tool_cli\n\n"
            "def loop():\n    return loop()\n\n"
        )
        if "provider" in self.style:
            function = (
                "class P(DynamicToolProvider):\n    def create_tools(self, tool_config=None):\n        return []\n\n"
                f"@P.register_tool\n{function}\ncli = provider_cli(P)\n"
            )
        else:
            function += f"\ncli = tool_cli({name})\n"
        return f"{head}{function}\nif __name__ == '__main__':\n    cli()\n"


def generated_tools() -> st.SearchStrategy[GeneratedTool]:
    """Any tool."""
    parameter = st.sampled_from(sorted(PARAMETERS)).flatmap(
        lambda annotation: st.tuples(st.just(annotation), st.sampled_from(PARAMETERS[annotation]))
    )
    return st.builds(
        GeneratedTool,
        style=st.sampled_from(STYLES),
        context=st.sampled_from(CONTEXTS),
        parameters=st.lists(parameter, max_size=4).map(tuple),
        ending=st.sampled_from(sorted(ENDINGS)),
    )


def write_toolset(folder: Path, tools: list[GeneratedTool]) -> Path:
    """Write a toolset folder with one program for each tool, named `g0`, `g1`, ..."""
    entries = {}
    for number, tool in enumerate(tools):
        name = f"g{number}"
        (folder / name).mkdir(parents=True)
        (folder / name / f"{name}.py").write_text(tool.source(name))
        entries[name] = {
            "executable": name,
            "tool_dir": name,
            "timeout_seconds": 1 if tool.ending == "too_slow" else 30,
        }
    (folder / "manifest.yaml").write_text(json.dumps({"version": 1, "tools": entries}))
    return folder
