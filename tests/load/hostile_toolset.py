"""A toolset with one hostile tool for each profile, and a well-behaved one beside them."""

import json
import shutil
from pathlib import Path

from tests.support.agent_folder import agent_folder

_SOURCES = Path(__file__).parents[1] / "toolsets" / "hostile"
_RUN = "exec /usr/bin/python3 -IS /agent/hostile.py"


def write_hostile_toolset(folder: Path, timeout_s: float) -> list[Path]:
    """Write it below a folder; returns what a worker has to serve.

    Tools: `hostile_standard`, `hostile_restrictive`, `hostile_permissive`, `hostile_declared` and `typed`.
    """
    toolset, agent = folder / "toolset", folder / "agent"
    shutil.copytree(_SOURCES, toolset)
    tools: dict[str, dict[str, object]] = {
        f"hostile_{profile}": {
            "executable": "hostile.py",
            "tool_dir": ".",
            "runtime": "executable",
            "sandbox_profile": profile,
            "timeout_seconds": timeout_s,
        }
        for profile in ("standard", "restrictive", "permissive")
    }
    tools["typed"] = {"executable": "typed.py", "tool_dir": ".", "timeout_seconds": 30}
    (toolset / "manifest.yaml").write_text(json.dumps({"version": 1, "tools": tools}))
    agent_folder(
        agent,
        {"hostile_declared": _RUN},
        more={"hostile_declared": f"timeout_seconds = {timeout_s}"},
        scripts={"hostile.py": (_SOURCES / "hostile.py").read_text()},
    )
    return [toolset, agent]
