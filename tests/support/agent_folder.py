"""Agent folders for tests: a vessel file, tool files, scripts."""

import json
from collections.abc import Mapping
from pathlib import Path


def agent_folder(
    folder: Path,
    tools: Mapping[str, str],
    *,
    vessel: str = "",
    scripts: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
) -> Path:
    """Write an agent folder whose tools run a shell line each.

    Args:
        folder: Where.
        tools: The shell line of each tool, by name.
        vessel: Lines of vessel.toml before its sections.
        scripts: Further files, by path.
        more: Further lines of a tool's file, by its name.
    """
    (folder / "tools").mkdir(parents=True, exist_ok=True)
    listed = [f"tools/{name}.toml" for name in tools]
    (folder / "vessel.toml").write_text(f"{vessel}\n[tools]\ndeclared = {json.dumps(listed)}\n")
    for name, line in tools.items():
        command = json.dumps(["sh", "-c", line], ensure_ascii=False)
        text = f'name = "{name}"\ndescription = "Test {name}."\ncommand = {command}\n{(more or {}).get(name, "")}\n'
        (folder / "tools" / f"{name}.toml").write_text(text)
    for path, text in (scripts or {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder
