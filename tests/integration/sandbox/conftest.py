"""Fixtures of the sandbox's integration tests: they need Linux, and root to see a worker drop its uid."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.sandboxes import throwaway_base

if not sys.platform.startswith("linux"):
    pytest.skip("the sandbox needs Linux", allow_module_level=True)


@pytest.fixture
def base() -> Iterator[Path]:
    """A base folder of its own for each test."""
    with throwaway_base() as folder:
        yield folder


@pytest.fixture(params=["root", "unprivileged"])
def user(request: pytest.FixtureRequest) -> str:
    """Who the worker is; a test with this fixture runs for both."""
    name = str(request.param)
    if name == "root" and os.getuid() != 0:
        pytest.skip("needs root")
    return name
