"""What becomes of each form of a tool under the published SDK, as the SDK alone has it and as the launcher repairs it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.published_sdk import Answer, run_forms

RIGHT = "ada a"
TWICE = "got multiple values for argument 'x'"
UNCONVERTED = 'can only concatenate str (not "int") to str'
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


def expected(release: str, *, strict: bool) -> dict[tuple[str, str], str]:
    """What each tool's text has to contain, by tool and name in its provider."""
    told = {(tool, ""): RIGHT for tool in SOUND} | {(tool, ""): says for tool, says in BROKEN.items()} | dict(SETS)
    told["forms.no_arguments", ""] = "takes 0 positional arguments but 1 was given"
    told["forms.wrapped_first_line", ""] = NO_CONTEXT
    told["text_forms.number", ""] = UNCONVERTED
    if not strict:
        told = dict.fromkeys(told, RIGHT)
        told |= {key: "ada a a" for key in told if "sync_class" in key[1] or "Sync" in key[0]}
        told["forms.wrapped_first_line", ""] = "ada None"
        # Before 0.1.2 the package converted nothing, which is the worker's part in any case.
        told["text_forms.number", ""] = UNCONVERTED if release < "0.1.2" else "ada 6"
    told |= {key: RIGHT for key, says in told.items() if not says}
    told["forms.legacy", ""] = "ada a None"
    told["forms.partial", ""] = RIGHT
    told["text_forms.files", ""] = "'str' object has no attribute 'as_text'" if strict else "ada one two"
    return told


def surprises(release: str, answers: Mapping[tuple[str, str], Answer], *, strict: bool) -> list[str]:
    """The tools that do not do what is expected of them."""
    wrong = []
    for key, says in expected(release, strict=strict).items():
        text = answers[key].text
        fits = text == says if says.startswith("ada") else says in text
        if not fits:
            wrong.append(
                f"{release} {'strict' if strict else 'repaired'} {' '.join(key)}: {text[:200]!r} instead of {says!r}"
            )
    return wrong
