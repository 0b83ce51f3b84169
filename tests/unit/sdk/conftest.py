"""A tool as a process, under each interpreter that tools run under."""

from pathlib import Path

import pytest
from tests.support.tool_process import PYTHONS, ToolProcess


@pytest.fixture(params=PYTHONS, ids=["system python", "venv python"][: len(PYTHONS)])
def tool(tmp_path: Path, request: pytest.FixtureRequest) -> ToolProcess:
    """A tool without a file yet, under either interpreter."""
    return ToolProcess(tmp_path, request.param)


@pytest.fixture
def venv_tool(tmp_path: Path) -> ToolProcess:
    """A tool without a file yet, under the interpreter that has packages."""
    return ToolProcess(tmp_path, PYTHONS[-1])
