"""An annotation that says nothing is refused when the tool is described, with its file, line, parameter and name."""

import pytest
from tests.support.tool_process import ToolProcess

HEAD = """from __future__ import annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, TypeVar
from SDK import *
if TYPE_CHECKING:
    from shapes import Circle
class Opaque: pass
@dataclass
class Box:
    content: Opaque
"""
FIRST = len(HEAD.splitlines()) + 1

REFUSED = [
    ("name: Opaque", "'name'", "unknown type Opaque"),
    ("name: str,\n        times: int | strr = 1", "'times'", "there is no strr; did you mean str?"),
    ("name: list[dict[str, Opaque]]", "'name'", "unknown type Opaque"),
    ("name: Box | None = None", "'name'", "unknown type Opaque"),
    ("name: Callable[[], int]", "'name'", "unknown type"),
    ("name: Circle", "'name'", "there is no Circle; define or import it"),
    ("name: 'what is this'", "'name'", ", which can't be read"),
    ("*, name: 'Artefact'", "'name'", "unknown type"),
    ("**more: Opaque", "'more'", "unknown type Opaque"),
]
LET_PASS = ["name", "name: Any", "name: TypeVar('T')", "name, *more: Opaque", "name, tool_context: Opaque = None"]


def source(parameters: str, sdk: str = "toolmesh_sdk") -> str:
    """Return a tool with these parameters, the first of which stands in line FIRST."""
    body = f"def run({parameters}):\n    'Do.'\n    return 'ran'\ntool_cli(run)()\n"
    return HEAD.replace("SDK", sdk) + body


@pytest.mark.parametrize(("parameters", "parameter", "says"), REFUSED, ids=[row[0] for row in REFUSED])
@pytest.mark.requirement("tool:annotated")
def test_an_annotation_that_says_nothing_is_refused_with_its_place(
    tool: ToolProcess, parameters: str, parameter: str, says: str
) -> None:
    """Misspelt, undefined, not to be sent, or inside of another one."""
    tool.write(source(parameters))
    code, stdout, stderr = tool.run("--schema")
    line = FIRST + parameters.count("\n")
    assert (code, stdout) == (1, "")
    assert f'tool.py", line {line}\n' in stderr
    told = stderr.splitlines()[-1]
    assert f"parameter {parameter} of run (line {line}): " in told
    assert says in told, told


@pytest.mark.parametrize("parameters", LET_PASS)
def test_what_is_meant_to_say_nothing_passes(tool: ToolProcess, parameters: str) -> None:
    """No annotation, Any, a free type variable, and parameters that no model sends."""
    tool.write(source(parameters))
    assert list(tool.schema()["run"]["parameters"]["properties"]) == ["name"]
    assert tool.call({"name": "x"}).result["text"] == "ran"


@pytest.mark.parametrize("parameters", [row[0] for row in REFUSED[:7]])
def test_tools_of_the_published_names_stay_what_they_were(venv_tool: ToolProcess, parameters: str) -> None:
    """There, what nobody knows is text, and such tools are in use."""
    venv_tool.write(source(parameters, "sam_tool_sdk"))
    assert "name" in venv_tool.schema()["run"]["parameters"]["properties"]


def test_every_problem_of_a_provider_is_named_at_once(venv_tool: ToolProcess) -> None:
    """Each with its own line, decorators not counted, also through functools.wraps; the first is the place."""
    venv_tool.write("""
        import functools
        from toolmesh_sdk import DynamicToolProvider, provider_cli
        class Tools(DynamicToolProvider):
            def create_tools(self, tool_config=None): return []
        class Opaque: pass
        def wrapped(function):
            @functools.wraps(function)
            def inner(*args, **more): return function(*args, **more)
            return inner
        @Tools.register_tool
        def one(
            a: int,
            b: Opaque,
        ):
            "Do."
        @Tools.register_tool
        @wrapped
        def two(c: Opaque):
            "Do."
        provider_cli(Tools)()
        """)
    _, _, stderr = venv_tool.run("--schema")
    assert 'tool.py", line 14\n' in stderr
    assert "parameter 'b' of one (line 14): unknown type Opaque" in stderr
    assert "parameter 'c' of two (line 19): unknown type Opaque" in stderr
