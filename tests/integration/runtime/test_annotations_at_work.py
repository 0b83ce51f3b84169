"""The annotation table through a real worker: what callers are shown, and what arrives of what they send by it."""

import asyncio
import json
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.support.annotated_toolset import (
    CONTEXT_FORMS,
    FILES,
    PUBLISHED_LEAVES_OUT,
    VALUES,
    tool_of_all_rows,
    tool_of_each_row,
)
from tests.support.annotation_table import ARTIFACTS, CONTEXTS, ROWS
from tests.support.published_sdk import RELEASES
from tests.support.worker_mesh import POOL, WorkerMesh, broker_and_client, worker_in_process
from tests.toolsets.annotated.kinds import told

from toolmesh_client import CallResult
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_contracts.envelopes.reply import Outcome

pytestmark = pytest.mark.timeout(240)  # the first run downloads the releases


@dataclass
class Answered:
    """What became of one tool."""

    entry: CatalogEntry
    sent: dict[str, Any]
    result: CallResult

    @property
    def schema(self) -> dict[str, Any]:
        """The parameters as the caller sees them."""
        return dict(json.loads(bytes(self.entry.parameters)))

    def arrived(self, parameter: str) -> Any:
        """What the tool says of a parameter."""
        assert isinstance(self.result.data, dict), self.result
        return self.result.data[parameter]


IS_LIST = {FILES[row[0]]: row[3] for row in ARTIFACTS}


async def answer(mesh: WorkerMesh, tool: str, sent: dict[str, Any]) -> Answered:
    """Calls a tool, with a file for each of its artifacts."""
    shown = mesh.client.catalog.get(POOL, tool)
    assert shown is not None, tool
    wanted = dict(json.loads(bytes(shown.entry.parameters)))["properties"]
    files = {f"{name}[0]" if IS_LIST[name] else name: mesh.folder / "note.txt" for name in wanted if name in IS_LIST}
    values = {name: value for name, value in sent.items() if name in wanted}
    return Answered(shown.entry, values, await mesh.client.call(tool, values, artifacts=files))


async def answers_of_ours(folder: Path) -> dict[str, Answered]:
    """Calls the tool of each row."""
    toolset = await asyncio.to_thread(tool_of_each_row, folder / "toolset")
    (folder / "note.txt").write_text("soft words")
    sent = {VALUES[row[0]]: row[3] for row in ROWS}
    tools = [*VALUES.values(), *FILES.values(), *CONTEXT_FORMS.values()]
    async with broker_and_client(folder) as mesh, worker_in_process(mesh, [toolset]):
        answered = await asyncio.gather(*(answer(mesh, tool, sent) for tool in tools))
    return dict(zip(tools, answered, strict=True))


async def answers_of_published(folder: Path, release: str) -> dict[str, Answered]:
    """Calls a release's tools; what a row sends and the package does not ask for is replaced by what it does."""
    toolset = await asyncio.to_thread(tool_of_all_rows, folder / "toolset", release)
    (folder / "note.txt").write_text("soft words")
    async with broker_and_client(folder) as mesh, worker_in_process(mesh, [toolset]):
        shown = mesh.client.catalog.get(POOL, "values")
        assert shown is not None
        wanted = json.loads(bytes(shown.entry.parameters))["properties"]
        rows = {VALUES[row[0]]: row[3] for row in ROWS if row[0] not in PUBLISHED_LEAVES_OUT}
        sent = {name: value if fits(value, wanted[name]) else sample(wanted[name]) for name, value in rows.items()}
        return {tool: await answer(mesh, tool, sent) for tool in ("values", "files", "contexts")}


def fits(value: Any, schema: dict[str, Any]) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


def sample(schema: dict[str, Any]) -> Any:
    """A value that a schema of the published SDK asks for."""
    if schema["type"] == "object":
        return {name: sample(schema["properties"][name]) for name in schema.get("required", ())}
    if schema["type"] == "array":
        return [sample(schema["items"])]
    return {"string": "some text", "integer": 5, "number": 0.5, "boolean": True}[schema["type"]]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answered]:
    return asyncio.run(answers_of_ours(tmp_path_factory.mktemp("ours")))


@pytest.fixture(scope="module", params=RELEASES)
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answered]:
    return asyncio.run(answers_of_published(tmp_path_factory.mktemp("published"), request.param))


@pytest.mark.parametrize(("source", "wanted", "arrives"), [(r[0], r[2], r[4]) for r in ROWS], ids=[r[0] for r in ROWS])
@pytest.mark.requirement("tool:annotations")
def test_value_sent_by_the_schema_arrives_as_annotated(
    ours: dict[str, Answered], source: str, wanted: dict[str, Any] | None, arrives: Any
) -> None:
    """The catalog says all that the annotation does, and the tool gets its very type."""
    name = VALUES[source]
    answered = ours[name]
    assert wanted is None or answered.schema["properties"][name] == wanted
    assert fits(answered.sent, answered.schema)
    assert answered.result.outcome is Outcome.OK, answered.result
    assert answered.arrived(name) == told(arrives)


@pytest.mark.parametrize("row", ARTIFACTS, ids=[row[0] for row in ARTIFACTS])
@pytest.mark.requirement("tool:annotations")
def test_file_sent_by_its_name_arrives_loaded(
    ours: dict[str, Answered], row: tuple[str, Any, dict[str, Any], bool, bool]
) -> None:
    """The catalog asks for the name of a file, or names, and says so to who sends the files."""
    source, _, wanted, is_list, is_optional = row
    name = FILES[source]
    answered = ours[name]
    assert answered.schema["properties"][name] == wanted
    assert (name not in answered.schema.get("required", ())) is is_optional
    declared = answered.entry.artifact_parameters[name]
    assert (declared.is_list, declared.is_optional) == (is_list, is_optional)
    assert answered.arrived(name) == {"type": container(source, is_list), "of": "Artifact", "text": "soft words"}


def container(source: str, is_list: bool) -> str:
    return "tuple" if source.startswith("tuple") else "list" if is_list else "Artifact"


@pytest.mark.parametrize("source", [row[0] for row in CONTEXTS])
@pytest.mark.requirement("tool:annotations")
def test_context_arrives_and_is_not_asked_for(ours: dict[str, Answered], source: str) -> None:
    """No form of the context is in the catalog, and each is filled."""
    name = CONTEXT_FORMS[source]
    assert ours[name].schema == {"type": "object", "properties": {}}
    assert ours[name].arrived(name) == {"type": "SandboxToolContextFacade", "user": "ada"}


JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}
DESCRIBED = [row for row in ROWS if row[0] not in PUBLISHED_LEAVES_OUT]


@pytest.mark.parametrize("row", DESCRIBED, ids=[row[0] for row in DESCRIBED])
@pytest.mark.requirement("published:repaired")
def test_published_tool_gets_the_value_that_its_schema_asks_for(
    published: dict[str, Answered], row: tuple[str, Any, Any, Any, Any]
) -> None:
    """The package hands JSON on as it came, whatever the annotation: exactly what was sent arrives."""
    name, answered = VALUES[row[0]], published["values"]
    kind = JSON_TYPES.get(typing.get_origin(row[1]) or row[1])
    assert kind is None or answered.schema["properties"][name]["type"] == kind
    assert answered.arrived(name) == told(answered.sent[name])


@pytest.mark.parametrize("row", ARTIFACTS, ids=[row[0] for row in ARTIFACTS])
@pytest.mark.requirement("published:repaired")
def test_published_tool_gets_the_file_whose_name_was_sent(
    published: dict[str, Answered], row: tuple[str, Any, dict[str, Any], bool, bool]
) -> None:
    """Every form that our SDK knows is repaired to one that the package knows."""
    source, _, _, is_list, _ = row
    name, answered = FILES[source], published["files"]
    plain = {"type": "string"}
    assert answered.schema["properties"][name] == ({"type": "array", "items": plain} if is_list else plain)
    assert answered.entry.artifact_parameters[name].is_list is is_list
    assert answered.arrived(name) == {"type": container(source, is_list), "of": "Artifact", "text": "soft words"}


@pytest.mark.parametrize("source", [row[0] for row in CONTEXTS])
@pytest.mark.requirement("published:repaired")
def test_published_tool_gets_its_context_in_every_form(published: dict[str, Answered], source: str) -> None:
    """All in one tool, which the package alone could not call."""
    assert published["contexts"].schema["properties"] == {}
    told = published["contexts"].arrived(CONTEXT_FORMS[source])
    assert told == {"type": "SandboxToolContextFacade", "user": "ada"}
