"""The forms of tests/toolsets/published as a toolset: a program for each function and class, which a worker runs."""

import json
import shutil
from pathlib import Path

from tests.support.published_forms import BROKEN, SETS, SOUND
from tests.support.published_sdk import TOOLSET, installed

OURS = "ours"
"""Our SDK, in the place of a release."""

FUNCTIONS = (
    *SOUND,
    *BROKEN,
    "forms.legacy",
    "forms.partial",
    "forms.no_arguments",
    "forms.wrapped_first_line",
    "forms.optional_file",
    "text_forms.number",
    "text_forms.files",
)
_PROGRAM = """
import {module}
from sam_tool_sdk import {cli}

cli = {cli}({tool})
if __name__ == "__main__":
    cli()
"""


def form_toolset(folder: Path, sdk: str) -> Path:
    """Writes the toolset; `sdk` is OURS, or a release that then lies beside the programs."""
    tools = folder / "tools"
    shutil.copytree(TOOLSET, tools, ignore=shutil.ignore_patterns("worker", "drive.py", "__pycache__"))
    if sdk != OURS:
        shutil.copytree(installed(sdk), tools / "python", ignore=shutil.ignore_patterns("__pycache__"))
    entries = {}
    for path in (*FUNCTIONS, *(tool for tool, _ in SETS)):
        module, name = path.split(".")
        cli = "tool_cli" if module != "sets" else "provider_cli" if name.endswith("Provider") else "dynamic_tool_cli"
        (tools / f"run_{module}_{name}.py").write_text(_PROGRAM.format(module=module, cli=cli, tool=path))
    for tool, name in [*((path, "") for path in FUNCTIONS), *SETS]:
        entries[tool_name(tool, name)] = {"executable": f"run_{tool.replace('.', '_')}", "tool_dir": "tools"}
    (folder / "manifest.yaml").write_text(json.dumps({"version": 1, "tools": entries}))
    return folder


def tool_name(tool: str, name: str) -> str:
    """Returns the manifest's name for a form: a provider's tools keep their own."""
    return name or tool.replace(".", "_")
