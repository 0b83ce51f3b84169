"""A traceback tells the place in the author's own files, not in a library that they called."""

from pathlib import Path

import pytest

from toolmesh_runtime.toolsets.python_traceback import failed_at, hiding_file, missing_module

LOG = """Traceback (most recent call last):
  File "/opt/toolmesh/toolset/greet.py", line 4, in <module>
    from parts.load import load
  File "{inner}", line 7, in <module>
    json.loads("")
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
ModuleNotFoundError: No module named 'requests.adapters'
"""


def test_the_innermost_own_frame_is_the_place() -> None:
    """As the sandbox shows the folder, or as it is on the host; a library's frame is nobody's fault there."""
    shown = LOG.replace("{inner}", "/opt/toolmesh/toolset/parts/load.py")
    assert failed_at(shown, Path("/var/x")) == ("parts/load.py", 7)
    assert failed_at(LOG.replace("{inner}", "/var/x/parts/load.py"), Path("/var/x")) == ("parts/load.py", 7)
    assert failed_at(LOG.replace("{inner}", "/elsewhere/load.py"), Path("/var/x")) == ("greet.py", 4)
    assert failed_at("Segmentation fault", Path("/var/x")) is None


def test_the_module_that_is_missing_is_named_as_it_is_installed() -> None:
    """Its top package."""
    assert missing_module(LOG) == "requests"
    assert missing_module("ValueError") == ""


@pytest.mark.parametrize(
    ("file", "last", "hiding"),
    [
        ("json.py", "ImportError: cannot import name 'dumps' from 'json'", "json.py"),
        ("python/re.py", "AttributeError: module 're' has no attribute 'compile'", "python/re.py"),
        ("greet.py", "ImportError: cannot import name 'x' from 'y'", ""),
        ("json.py", "ZeroDivisionError: division by zero", ""),
        ("json.py", "ModuleNotFoundError: No module named 'requests'", ""),
    ],
)
def test_a_file_that_hides_pythons_own_module_is_named(file: str, last: str, hiding: str) -> None:
    """Where the program fails as one does that met the wrong module, and only there."""
    log = f'  File "/opt/toolmesh/toolset/{file}", line 1\n  File "/usr/lib/python3.11/enum.py", line 2\n{last}\n'
    assert hiding_file(log, Path("/var/x")) == hiding
