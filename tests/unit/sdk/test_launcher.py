"""The launcher: the SDK within reach under both its names, whatever a toolset brings along in front of it."""

import subprocess
import sys

import pytest
from tests.support.published_names import PUBLISHED_MODULES, PUBLISHED_NAMES
from tests.support.tool_process import LAUNCHER, SYSTEM_PYTHON, ToolProcess

import toolmesh_sdk

TOOL = """
    from {package} import SandboxToolContextFacade, ToolResult, tool_cli

    def run(name: str, ctx: SandboxToolContextFacade) -> ToolResult:
        "Greet."
        ctx.send_status("greeting")
        return ToolResult.ok(f"Hello {{name}}", data={{"sdk": tool_cli.__module__}})

    cli = tool_cli(run)

    if __name__ == "__main__":
        cli()
"""


@pytest.mark.parametrize("package", ["toolmesh_sdk", "sam_tool_sdk"])
@pytest.mark.requirement("tool:sam-import")
def test_a_tool_finds_the_sdk_under_both_names(tool: ToolProcess, package: str) -> None:
    """Unmodified tools of the published package run where it is not installed."""
    tool.write(TOOL.format(package=package))
    outcome = tool.call({"name": "Ada"})
    assert outcome.result["message"] == "Hello Ada"
    assert outcome.result["data"] == {"sdk": "toolmesh_sdk.cli"}
    assert outcome.statuses == ["greeting"]
    assert set(tool.schema()) == {"run"}


@pytest.mark.parametrize("package", ["toolmesh_sdk", "sam_tool_sdk"])
@pytest.mark.requirement("tool:sam-import")
def test_an_sdk_that_the_toolset_brings_along_wins(tool: ToolProcess, package: str) -> None:
    """A pinned release is what its author tested with."""
    (tool.folder / package).mkdir()
    tool.write("def tool_cli(function): return lambda: print('the toolset\\'s own')", f"{package}/__init__.py")
    tool.write(f"from {package} import tool_cli\ntool_cli(None)()")
    assert tool.run("args.json") == (0, "the toolset's own\n", "")


def test_the_alias_offers_every_published_name_and_module(tool: ToolProcess) -> None:
    """Also the modules that tools import names from directly; each name is the SDK's own object."""
    tool.write(
        f"""
        import importlib, sam_tool_sdk, toolmesh_sdk
        for name in {PUBLISHED_NAMES!r}:
            assert getattr(sam_tool_sdk, name) is getattr(toolmesh_sdk, name), name
            assert name in dir(toolmesh_sdk)
        from sam_tool_sdk import *
        assert ToolResult is toolmesh_sdk.ToolResult
        for module, name in {PUBLISHED_MODULES!r}.items():
            found = getattr(importlib.import_module(f"sam_tool_sdk.{{module}}"), name)
            assert found.__module__.startswith("toolmesh_sdk."), module
        try:
            sam_tool_sdk.nothing
        except AttributeError as problem:
            print(problem)
        """
    )
    assert tool.run("x") == (0, "module 'toolmesh_sdk' has no name 'nothing'\n", "")


def test_every_public_name_loads_and_no_module_of_the_sdk_is_on_the_path(tool: ToolProcess) -> None:
    """A toolset's own `errors` or `call` module must not meet ours."""
    assert set(PUBLISHED_NAMES) <= set(toolmesh_sdk.__all__)
    for name in toolmesh_sdk.__all__:
        assert getattr(toolmesh_sdk, name) is not None
    tool.write("import helper_beside, sys\nprint(sys.argv, __name__, __file__ == sys.argv[0])\nimport errors")
    tool.write("", "helper_beside.py")
    code, stdout, stderr = tool.run("a", "b")
    assert stdout == f"['{tool.folder}/tool.py', 'a', 'b'] __main__ True\n"
    assert code == 1
    assert "No module named 'errors'" in stderr


def test_a_console_script_without_an_ending_runs(tool: ToolProcess) -> None:
    """What pip puts into `python/bin` is such a file, and its first line names another machine's Python."""
    tool.write("#!/builder/python3\nimport sys\nsys.exit(7)", "script")
    done = subprocess.run([tool.python, LAUNCHER, tool.folder / "script", "x"], check=False, timeout=30)
    assert done.returncode == 7


def test_without_a_script_the_launcher_prints_its_usage() -> None:
    """Nothing to run is a mistake of the host."""
    done = subprocess.run([sys.executable, LAUNCHER], capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (1, "usage: launch.py [--strict] SCRIPT ARGUMENTS...\n")


HEAVY = ["asyncio", "dataclasses", "inspect", "logging", "pathlib", "socket", "subprocess", "traceback", "typing"]


def test_a_plain_call_loads_no_heavy_module(tool: ToolProcess) -> None:
    """A tool process pays for every import; the figure itself is printed by `make sdk-cost`."""
    tool.write(
        """
        import sys
        before = set(sys.modules)
        from toolmesh_sdk import ToolContext, ToolResult, tool_cli

        def run(name: str, days: int = 3, ctx: ToolContext = None) -> ToolResult:
            "Greet."
            ctx.send_status("x")
            return ToolResult.ok(" ".join(sorted(set(sys.modules) - before)))

        tool_cli(run)()
        """
    )
    loaded = set(tool.call({"name": "Ada", "days": "4"}).result["message"].split())
    assert "toolmesh_sdk.call" in loaded
    assert loaded & set(HEAVY) == set()


def test_logging_of_a_tool_reaches_stderr(tool: ToolProcess) -> None:
    """Lines of INFO and above, in the published form."""
    tool.write(
        "import logging\nfrom toolmesh_sdk import *\ndef run():\n    'Do.'\n    logging.getLogger('mine').info('seen')\n"
        "tool_cli(run)()"
    )
    assert tool.call().stderr == "[sandbox] INFO mine: seen\n"


def test_the_machines_own_python_is_among_the_interpreters_tested() -> None:
    """Where there is one, every contract test above ran under it too."""
    from pathlib import Path

    from tests.support.tool_process import PYTHONS

    assert (SYSTEM_PYTHON in PYTHONS) is Path(SYSTEM_PYTHON).exists()
