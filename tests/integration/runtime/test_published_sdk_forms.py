"""Every form of a tool under every release of the published SDK: repaired by the launcher, and exactly as it is."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.published_sdk import RELEASES, Answer, run_forms

pytestmark = pytest.mark.timeout(240)  # the first run downloads the releases

RIGHT = "ada a"
TWICE = "got multiple values for argument 'x'"
NO_CONTEXT = "'NoneType' object has no attribute 'user_id'"

SOUND = ["forms.bare", "forms.first", "forms.with_default", "forms.in_async", "text_forms.optional_context"]
"""Forms that the package itself serves."""

BROKEN = {
    "forms.optional": TWICE,
    "forms.or_none": TWICE,
    "forms.plain_default": TWICE,
    "forms.no_context": TWICE,
    "forms.config_alone": TWICE,
    "forms.config_too": "missing 1 required positional argument: 'tool_config'",
    "forms.two_contexts": "missing 1 required positional argument: 'one'",
    "text_forms.two_contexts": "missing 1 required positional argument: 'one'",
    "forms.positional_only": "positional-only arguments passed as keyword",
    "forms.forgotten_await": "<coroutine object",
    "forms.callable_object": "<coroutine object",
}
"""Forms that only the launcher makes work, and what becomes of them without it."""

SETS = {
    ("sets.ClassTool", ""): "",
    ("sets.Provider", "plain"): "",
    ("sets.Provider", "injected_config"): "",
    ("sets.Provider", "synchronous"): "can't be used in 'await' expression",
    ("sets.Provider", "or_none"): NO_CONTEXT,
    ("sets.Provider", "without_self"): NO_CONTEXT,
    ("sets.Provider", "own_config"): "has no attribute 'tool_config'",
    ("sets.Provider", "sync_class_tool"): "a coroutine was expected",
    ("sets.SyncClassTool", ""): "a coroutine was expected",
    ("sets.ForgetfulProvider", "forgetful"): 'can only concatenate list (not "NoneType") to list',
}
"""Class tools and provider functions, with what becomes of them without the launcher; nothing: they work."""


def answers(release: str, folder: Path, *, strict: bool) -> dict[tuple[str, str], Answer]:
    """Run all forms once."""
    calls: list[dict[str, Any]] = [{"tool": tool} for tool in (*SOUND, *BROKEN, "forms.legacy", "forms.partial")]
    calls += [{"tool": tool, "tool_name": name} for tool, name in SETS]
    calls += [
        {"tool": "forms.no_arguments", "args": {}},
        {"tool": "forms.wrapped_first_line", "args": {}},
        {"tool": "text_forms.number", "args": {"x": "5"}},
        files_call(folder),
    ]
    keys = [(call["tool"], call.get("tool_name", "")) for call in calls]
    return dict(zip(keys, run_forms(release, folder, calls, strict=strict), strict=True))


def files_call(folder: Path) -> dict[str, Any]:
    """A call with two artifacts for one list."""
    metadata = {}
    for number, text in enumerate(("one", "two")):
        (folder / text).write_text(text)
        path = str(folder / text)
        metadata[f"docs[{number}]"] = {"filename": text, "mime_type": "text/plain", "version": 0, "local_path": path}
    return {"tool": "text_forms.files", "args": {"docs": ["one", "two"]}, "artifact_metadata": metadata}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.requirement("published:repaired")
def test_repaired_tools_get_all_that_they_ask_for(release: str, tmp_path: Path) -> None:
    """Whatever form the context has, or none, it and tool_config arrive, and no coroutine passes for a result."""
    told = answers(release, tmp_path, strict=False)
    for tool in (*SOUND, *BROKEN, "forms.partial", "forms.no_arguments"):
        assert (tool, told[tool, ""].text) == (tool, RIGHT)
    for key in SETS:
        expected = "ada a a" if "sync_class" in key[1] or "Sync" in key[0] else RIGHT
        assert (key, told[key].text) == (key, expected)
    assert told["forms.legacy", ""].text == "ada a None"
    assert told["forms.wrapped_first_line", ""].text == "ada None"
    assert told["text_forms.files", ""].text == "ada one two"
    if release >= "0.1.2":  # before that the package converted nothing, which is the worker's part in any case
        assert told["text_forms.number", ""].text == "ada 6"
    assert all(answer.schema is not None for answer in told.values())


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.requirement("published:repaired")
def test_repaired_tools_advertise_only_what_models_send(release: str, tmp_path: Path) -> None:
    """No context or tool_config in the schema, `int | None` is an optional integer, and the whole first sentence shows."""
    told = answers(release, tmp_path, strict=False)
    for (tool, name), answer in told.items():
        assert answer.schema is not None
        for described in answer.schema.values():
            sent = set(described["parameters"]["properties"])
            assert sent <= {"x", "docs", "suffix"}, (tool, name, sent)
    (wrapped,) = (told["forms.wrapped_first_line", ""].schema or {}).values()
    assert wrapped["description"] == "Do what takes so many words to say that the first sentence does not fit a line."
    assert wrapped["parameters"] == {
        "type": "object",
        "properties": {"x": {"type": "integer", "description": "A number, or nothing."}},
    }
    (files,) = (told["text_forms.files", ""].schema or {}).values()
    assert files["artifact_params"] == {"docs": {"is_list": True, "is_optional": False}}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.requirement("published:strict")
def test_strict_mode_is_the_package_itself(release: str, tmp_path: Path) -> None:
    """Each form fails as the package alone has it fail, and what it serves works."""
    told = answers(release, tmp_path, strict=True)
    for tool in SOUND:
        assert (tool, told[tool, ""].text) == (tool, RIGHT)
    for tool, says in BROKEN.items():
        assert says in told[tool, ""].text, (tool, told[tool, ""])
    for key, says in SETS.items():
        assert says in told[key].text, (key, told[key])
        assert bool(says) != (told[key].text == RIGHT), key
    assert told["forms.legacy", ""].text == "ada a None"
    assert "takes 0 positional arguments but 1 was given" in told["forms.no_arguments", ""].text
    assert 'can only concatenate str (not "int") to str' in told["text_forms.number", ""].text
    (shown,) = (told["forms.or_none", ""].schema or {}).values()
    assert set(shown["parameters"]["properties"]) == {"x", "ctx"}
    assert told["forms.partial", ""].schema is None
