"""Start a Python tool with the SDK within reach: `PYTHON launch.py [--strict] SCRIPT ARGUMENTS...`.

The script runs as `__main__`, its own folder first on the path. The SDK, and the alias package under the name that
published tools import, come last, so that what a toolset brings along wins. A published package that it brings along
is repaired as it is loaded; `--strict` leaves it as it is.
"""

from __future__ import annotations

import sys
from _frozen_importlib_external import PathFinder, SourceFileLoader  # importlib.machinery without its Python half

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_PUBLISHED = "sam_tool_sdk"


class PublishedPackageFinder:
    """Finds the published package, if the toolset has it, and repairs it once it is loaded.

    Args:
        sdk: Folder of our package, with the one that stands in for the published one and needs no repair.
    """

    def __init__(self, sdk: str) -> None:
        self._sdk = sdk

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the package as Python would."""
        if name != _PUBLISHED:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None and not (spec.origin or "").startswith(f"{self._sdk}/"):
            repairing: Any = _RepairingLoader(spec.loader, self._sdk)
            spec.loader = repairing
        return spec


class _RepairingLoader:
    def __init__(self, loader: Any, sdk: str) -> None:
        self._loader = loader
        self._sdk = sdk

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        # By its path: the toolset may have brought along another release of our SDK too.
        repair = _load("toolmesh_repair", f"{self._sdk}/repair.py")
        repair.repair_package(module)


def run_script(script: str, arguments: list[str], *, strict: bool = False) -> None:
    """Run a tool's script as the main program.

    Args:
        script: Its path.
        arguments: Its command line.
        strict: A published package that it brings along stays as it is.

    Raises:
        OSError: The script cannot be read.
    """
    package = __file__.rpartition("/")[0] or "."
    # The folder of this file holds the SDK's modules: on the path they would hide others of the same name.
    sys.path[:] = [entry for entry in sys.path if entry != package]
    sys.path.insert(0, script.rpartition("/")[0] or ".")
    sys.path += [package.rpartition("/")[0] or "..", f"{package}/compat"]
    if not strict:
        sys.meta_path.insert(0, PublishedPackageFinder(package))
    sys.argv = [script, *arguments]
    _load("__main__", script)


def _load(name: str, path: str) -> Any:
    # This loader uses compiled code where there is any; `runpy` would not, and costs more.
    code = SourceFileLoader(name, path).get_code(name)
    module = type(sys)(name)
    module.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules[name] = module
    exec(code, module.__dict__)  # type: ignore[arg-type]  # noqa: S102 - running the tool is what this file is for
    return module


if __name__ == "__main__":
    given = sys.argv[1:]
    only_as_published = given[:1] == ["--strict"]
    if only_as_published:
        del given[0]
    if not given:
        sys.exit("usage: launch.py [--strict] SCRIPT ARGUMENTS...")
    run_script(given[0], given[1:], strict=only_as_published)
