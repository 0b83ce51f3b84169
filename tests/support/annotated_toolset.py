"""Tools that have the annotations of the annotation table, for our SDK and for releases of the published one."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.support.annotation_table import ARTIFACTS, CONTEXTS, ROWS
from tests.support.published_sdk import installed, installed_package

PUBLISHED_LEAVES_OUT = ("Tree",)
"""The published SDK describes a type that refers to itself without end, and with it none of the program's tools."""
_TYPES = Path(__file__).parents[1] / "toolsets" / "annotated"
_NEED_MODELS = ("Address", "House", "Partly", "Field", "conint")
_UNWRITTEN = "nothing at all"

_HEAD = """
from kinds import *
from sam_tool_sdk import *
from sam_tool_sdk import provider_cli

class Table(DynamicToolProvider):
    def create_tools(self, tool_config=None):
        return []

def loaded(p):
    first = p if isinstance(p, Artifact) else p[0]
    return {"type": type(p).__name__, "of": type(first).__name__, "text": first.as_text()}

def known(p):
    return {"type": type(p).__name__, "user": p.user_id}
"""
_TOOL = """
@Table.register_tool
async def {name}(self, {parameters}):
    \"\"\"Take it.\"\"\"
    return {{name: {how}(value) for name, value in locals().items() if name != "self"}}
"""
_TAIL = """
cli = provider_cli(Table)
if __name__ == "__main__":
    cli()
"""

VALUES = {row[0]: f"value{number}" for number, row in enumerate(ROWS)}
FILES = {row[0]: f"file{number}" for number, row in enumerate(ARTIFACTS)}
CONTEXT_FORMS = {row[0]: f"context{number}" for number, row in enumerate(CONTEXTS)}
"""Of each row, by the annotation's text: its parameter, and its tool where each has one of its own."""


def tool_of_each_row(folder: Path) -> Path:
    """Writes a toolset for our SDK, with a tool for each row."""
    plain, modelled = _HEAD, f"from models import *\n{_HEAD}"
    programs: dict[str, str] = {}
    for rows, how in ((VALUES, "told"), (FILES, "loaded"), (CONTEXT_FORMS, "known")):
        for source, name in rows.items():
            tool = _tool(name, {source: name}, how)
            if any(word in source for word in _NEED_MODELS):
                modelled, programs[name] = modelled + tool, "modelled"
            else:
                plain, programs[name] = plain + tool, "plain"
    return _written(folder, {"plain": plain, "modelled": modelled}, programs)


def tool_of_all_rows(folder: Path, release: str) -> Path:
    """Writes a toolset for a release of the published SDK, with the tools `values`, `files` and `contexts`.

    Starting the package costs so much that a tool for each row would take minutes.
    """
    described = {source: name for source, name in VALUES.items() if source not in PUBLISHED_LEAVES_OUT}
    program = f"from models import *\n{_HEAD}" + _tool("values", described, "told")
    program += _tool("files", FILES, "loaded") + _tool("contexts", CONTEXT_FORMS, "known")
    folder = _written(folder, {"all": program}, dict.fromkeys(("values", "files", "contexts"), "all"))
    shutil.copytree(installed(release), folder / "tools" / "python", dirs_exist_ok=True)
    return folder


def _tool(name: str, rows: Mapping[str, str], how: str) -> str:
    annotated = [row if source == _UNWRITTEN else f"{row}: {source}" for source, row in rows.items()]
    return _TOOL.format(name=name, parameters=", ".join(annotated), how=how)


def _written(folder: Path, sources: Mapping[str, str], programs: Mapping[str, str]) -> Path:
    shutil.copytree(installed_package("pydantic==2.13.4"), folder / "tools" / "python")
    for path in _TYPES.glob("*.py"):
        shutil.copy(path, folder / "tools")
    for program, source in sources.items():
        (folder / "tools" / f"{program}.py").write_text(source + _TAIL)
    entries = {name: {"executable": program, "tool_dir": "tools"} for name, program in programs.items()}
    (folder / "manifest.yaml").write_text(json.dumps({"version": 1, "tools": entries}))
    return folder
