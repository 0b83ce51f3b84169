"""The generated `schemas/` folder."""

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from toolmesh_contracts.agent_config.loading import load_agent_file
from toolmesh_contracts.executor_config import load_executor_config
from toolmesh_contracts.manifest import load_manifest
from toolmesh_contracts.model_loading import read_document
from toolmesh_contracts.schema_export import CONFIG_FILES, generated_files, main
from toolmesh_contracts.vessel import VesselFile, load_declared_tool
from toolmesh_contracts.wire import MESSAGES, decode
from toolmesh_contracts.worker_config import load_worker_config

SCHEMAS = Path(__file__).parents[3] / "schemas"
EXAMPLES = SCHEMAS / "examples"
CONFIGS = {name.replace("/", ".v"): suffix for name, (_, suffix) in CONFIG_FILES.items()}
_PYDANTIC_LEFTOVERS = {"ge", "gt", "le", "lt"}


def schema(stem: str) -> Any:
    """Return a published schema."""
    return json.loads((SCHEMAS / f"{stem}.schema.json").read_text())


def keywords(value: object) -> set[str]:
    """Return every key of a JSON value, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*(keywords(item) for item in value.values()))
    return set().union(*(keywords(item) for item in value)) if isinstance(value, list) else set()


@pytest.mark.requirement("broker:schemas")
def test_the_folder_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever changes a contract also publishes it."""
    assert main(["--check", str(SCHEMAS)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("files up to date")


@pytest.mark.parametrize("stem", [name.replace("/", ".v") for name in [*MESSAGES, *CONFIG_FILES]])
def test_schemas_are_valid_and_say_their_limits(stem: str) -> None:
    """Each is a JSON Schema, and no limit is lost in a keyword that JSON Schema doesn't know."""
    published = schema(stem)

    jsonschema.Draft202012Validator.check_schema(published)
    assert not keywords(published) & _PYDANTIC_LEFTOVERS


@pytest.mark.parametrize("name", MESSAGES)
def test_examples_of_messages_fit(name: str) -> None:
    """A message's example fits its schema and decodes to its type."""
    stem = name.replace("/", ".v")
    example = json.loads((EXAMPLES / f"{stem}.json").read_text())

    jsonschema.Draft202012Validator(schema(stem)).validate(example)
    assert isinstance(decode(MESSAGES[name], msgspec.json.encode(example), name), MESSAGES[name])


@pytest.mark.parametrize("stem", CONFIGS)
def test_examples_of_files_fit(stem: str) -> None:
    """A file's example fits its schema as it is written."""
    document = read_document(EXAMPLES / f"{stem}.{CONFIGS[stem]}")

    jsonschema.Draft202012Validator(schema(stem)).validate(document.value())


def test_examples_of_files_load() -> None:
    """Each example loads without any problem."""
    names = ("MODEL_API_KEY", "ORDERS_DB_URL", "MCP_CLIENT_ID", "MCP_CLIENT_SECRET", "ORDERS_API_KEY")
    agents = load_agent_file(EXAMPLES / "agent-config.v1.yaml", dict.fromkeys(names, "x"))
    assert agents.problems == ()
    assert agents.agents[0].failed_tools == ()
    manifest = load_manifest(EXAMPLES / "tool-manifest.v1.yaml")
    assert manifest.problems == ()
    assert len(manifest.tools) == 2
    assert load_worker_config(EXAMPLES / "worker-config.v1.yaml", {}).model.namespace == "demo"
    assert load_executor_config(EXAMPLES / "executor-config.v1.yaml", {}).model.executor_id == "executor-1"
    assert load_declared_tool(EXAMPLES / "declared-tool.v1.toml").input == "args"
    assert VesselFile.model_validate(read_document(EXAMPLES / "vessel.v1.toml").value()).workdir == "/data"


def test_check_names_what_drifts_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A changed, a missing, a superfluous file and a missing example are each named; the exit code is 1."""
    folder = tmp_path / "schemas"
    shutil.copytree(SCHEMAS, folder)
    (folder / "invocation.v1.schema.json").write_text("{}")
    (folder / "examples" / "status.v1.json").unlink()
    (folder / "old.v1.schema.json").write_text("{}")
    (folder / "examples" / "vessel.v1.toml").unlink()

    assert main(["--check", str(folder)]) == 1

    printed = capsys.readouterr()
    for name in ("invocation.v1.schema.json", "examples/status.v1.json", "old.v1.schema.json", "vessel.v1.toml"):
        assert name in printed.err
    assert printed.out.splitlines()[-1].startswith("schemas: 4 of ")
    assert (folder / "invocation.v1.schema.json").read_text() == "{}"


def test_writing_repairs_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty folder gets every generated file, a stale one is removed; written examples are only asked for."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    (tmp_path / "examples" / "old.v1.json").write_text("{}")

    assert main([str(tmp_path)]) == 0

    assert not (tmp_path / "examples" / "old.v1.json").exists()
    assert {name: (tmp_path / name).read_text() for name in generated_files()} == generated_files()
    assert capsys.readouterr().out.splitlines()[-1].endswith("files up to date")
