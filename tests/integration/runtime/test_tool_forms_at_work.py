"""Every form of a tool under a real worker: with our SDK, and with the published one as the launcher repairs it."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.support.form_programs import FUNCTIONS, OURS, form_toolset, tool_name
from tests.support.published_forms import SETS, expected
from tests.support.published_sdk import RELEASES
from tests.support.worker_mesh import POOL, WorkerMesh, broker_and_client, worker_in_process

from toolmesh_client import CallResult

pytestmark = pytest.mark.timeout(240)  # the first run downloads the releases

WITHOUT_X = ("forms.no_arguments", "forms.wrapped_first_line", "forms.optional_file", "text_forms.files")


async def called(mesh: WorkerMesh, tool: str, name: str) -> CallResult:
    """Calls a form with the argument that it takes."""
    one, two = mesh.folder / "one", mesh.folder / "two"
    files = {"text_forms.files": {"docs[0]": one, "docs[1]": two}, "forms.optional_file": {"doc": one}}
    sent = "5" if tool == "text_forms.number" else "a"
    return await mesh.client.call(
        tool_name(tool, name),
        {} if tool in WITHOUT_X else {"x": sent},
        artifacts=files.get(tool, {}),
        tool_config={"letter": "a"},
    )


@pytest.mark.parametrize("sdk", [OURS, *RELEASES])
@pytest.mark.requirement("published:repaired")
async def test_every_form_gets_all_that_it_asks_for(sdk: str, tmp_path: Path) -> None:
    """Context and tool_config arrive in every form, what was not awaited is, and callers see only what is theirs."""
    toolset = await asyncio.to_thread(form_toolset, tmp_path / "toolset", sdk)
    for text in ("one", "two"):
        (tmp_path / text).write_text(text)
    forms = [*((tool, "") for tool in FUNCTIONS), *SETS]
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset]):
        results = await asyncio.gather(*(called(mesh, *form) for form in forms))
        entries = [mesh.client.catalog.get(POOL, tool_name(*form)) for form in forms]
    # The worker makes a number of the text that 0.1.0 and 0.1.1 don't convert.
    right = expected(RELEASES[-1], strict=False) | {("forms.optional_file", ""): "ada one"}
    told = {form: result.text() for form, result in zip(forms, results, strict=True)}
    assert told == {form: right[form] for form in forms}
    for form, entry in zip(forms, entries, strict=True):
        assert entry is not None
        properties = json.loads(bytes(entry.entry.parameters))["properties"]
        # The package's functions advertise the class of an optional file instead.
        assert properties.get("doc", {"type": "string"}) == {"type": "string"}
        assert set(properties) <= {"x", "doc", "docs", "suffix"}, form
