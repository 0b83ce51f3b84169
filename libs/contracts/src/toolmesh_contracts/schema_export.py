"""Writes `schemas/`: a JSON Schema of every message and of every file that people write, and one example of each.

Run as `python -m toolmesh_contracts.schema_export [--check] [FOLDER]`. Schemas and the messages' examples are
generated; the examples of configuration files are written by hand and only looked for.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec
from pydantic import TypeAdapter

from toolmesh_contracts.access.authorization_file import AuthorizationFile
from toolmesh_contracts.access.role_file import RoleFile
from toolmesh_contracts.access.user_file import UserFile
from toolmesh_contracts.agent_config.agent import AgentListFile, SingleAgentFile
from toolmesh_contracts.envelopes.examples import EXAMPLES
from toolmesh_contracts.executor_config import ExecutorConfig
from toolmesh_contracts.manifest import ManifestFile
from toolmesh_contracts.vessel import DeclaredToolFile, VesselFile
from toolmesh_contracts.wire import MESSAGES
from toolmesh_contracts.worker_config import WorkerConfig

__all__ = ["CONFIG_FILES", "generated_files", "main"]

CONFIG_FILES: Final[Mapping[str, tuple[Any, str]]] = MappingProxyType(
    {
        "agent-config/1": (AgentListFile | SingleAgentFile, "yaml"),
        "authorization/1": (AuthorizationFile, "yaml"),
        "declared-tool/1": (DeclaredToolFile, "toml"),
        "executor-config/1": (ExecutorConfig, "yaml"),
        "roles/1": (RoleFile, "yaml"),
        "tool-manifest/1": (ManifestFile, "yaml"),
        "users/1": (UserFile, "yaml"),
        "vessel/1": (VesselFile, "toml"),
        "worker-config/1": (WorkerConfig, "yaml"),
    }
)
"""Shape and format of every file that people write, by name and major version."""

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SCHEMA_SUFFIX: Final = ".schema.json"
_EXAMPLES: Final = "examples"


def generated_files() -> dict[str, str]:
    """Return the generated files' text by their path below the folder, in order."""
    files: dict[str, str] = {}
    for name, message in MESSAGES.items():
        files[f"{_stem(name)}{_SCHEMA_SUFFIX}"] = _schema_text(name, msgspec.json.schema(message))
        example = msgspec.json.decode(msgspec.json.encode(EXAMPLES[name]))
        files[f"{_EXAMPLES}/{_stem(name)}.json"] = _text(example)
    for name, (shape, _) in CONFIG_FILES.items():
        files[f"{_stem(name)}{_SCHEMA_SUFFIX}"] = _schema_text(name, TypeAdapter(shape).json_schema(by_alias=True))
    return dict(sorted(files.items()))


def written_examples() -> tuple[str, ...]:
    """Return the paths, below the folder, of the examples that are written by hand."""
    return tuple(f"{_EXAMPLES}/{_stem(name)}.{suffix}" for name, (_, suffix) in CONFIG_FILES.items())


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the folder, or with `--check` only compare it. Returns 0, or 1 when files drift or are missing."""
    parser = argparse.ArgumentParser(prog="python -m toolmesh_contracts.schema_export", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file would change")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("schemas"), help="default: schemas")
    options = parser.parse_args(arguments)
    wanted = generated_files()
    missing = [name for name in written_examples() if not (options.folder / name).is_file()]
    drifting = [name for name, text in wanted.items() if _current(options.folder / name) != text]
    stale = _stale(options.folder, wanted)
    if not options.check:
        _write(options.folder, {name: wanted[name] for name in drifting}, stale)
        drifting, stale = [], []
    for name in missing:
        sys.stderr.write(f"schemas: {options.folder / name} is missing; write an example by hand\n")
    for name in sorted(drifting + stale):
        sys.stderr.write(f"schemas: {options.folder / name} is not up to date; run `make schemas`\n")
    wrong = len(missing) + len(drifting) + len(stale)
    total = len(wanted) + len(written_examples())
    sys.stdout.write(f"schemas: {wrong} of {total} files differ\n" if wrong else f"schemas: {total} files up to date\n")
    return 1 if wrong else 0


def _write(folder: Path, files: Mapping[str, str], stale: Sequence[str]) -> None:
    (folder / _EXAMPLES).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {folder / name}\n")
    for name in stale:
        (folder / name).unlink()
        sys.stdout.write(f"removed {folder / name}\n")


def _stale(folder: Path, wanted: Mapping[str, str]) -> list[str]:
    """Return files of the generated kinds that nothing generates any more."""
    present = [*folder.glob(f"*{_SCHEMA_SUFFIX}"), *(folder / _EXAMPLES).glob("*.json")]
    return sorted(name for path in present if (name := path.relative_to(folder).as_posix()) not in wanted)


def _current(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _stem(name: str) -> str:
    base, _, major = name.partition("/")
    return f"{base}.v{major}"


def _schema_text(name: str, schema: Mapping[str, Any]) -> str:
    return _text({"$schema": _DIALECT, "title": name, **schema})


def _text(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
