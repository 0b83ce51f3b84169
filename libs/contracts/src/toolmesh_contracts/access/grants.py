"""What a role may grant, as text."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator

from toolmesh_contracts.scopes import EVERYTHING, MAX_SCOPE_CHARACTERS, ScopeSet, ScopeSyntaxError, parse

__all__ = ["CATEGORIES", "GrantText", "check_grant"]

CATEGORIES: Final = frozenset(
    {
        "activity",
        "agent",
        "agent_builder",
        "analytics",
        "builder",
        "connector",
        "deployment",
        "entrypoint",
        "evaluation",
        "model_config",
        "notify",
        "profile_provider",
        "project",
        "prompt",
        "rbac",
        "skill",
        "tool",
        "toolset",
        "webui_settings",
        "workflow",
        "workflow_builder",
    }
)
"""Categories with a meaning of their own; tools may ask for scopes of others."""

_OTHER_WILDCARDS: Final = re.compile(r"[?\[\]{}]")
_SEGMENTS: Final = 3
_FORM: Final = "write <category>:<resource>:<verb>, as in agent:weather:invoke, or * for everything"


def check_grant(text: str) -> str:
    """Return `text` if a role may grant it: `*`, a scope with or without `*` in it, or a declared tool's opaque scope.

    Raises:
        ScopeSyntaxError: it would grant nothing, or something else than it seems to; the text is not repeated.
    """
    if text in EVERYTHING:
        return text
    if ScopeSet([text]).ignored:
        raise ScopeSyntaxError(
            f"this grants nothing: a scope has 1 to {MAX_SCOPE_CHARACTERS} characters without white space, "
            "and not wildcards alone"
        )
    if _OTHER_WILDCARDS.search(text):
        raise ScopeSyntaxError("this is no scope: `*` is the only wildcard")
    segments = text.split(":")
    # Only a declared tool's scope is one opaque text; of a known category it is a scope that lacks a segment.
    if len(segments) == _SEGMENTS or segments[0] in CATEGORIES:
        try:
            parse(text)
        except ScopeSyntaxError as error:
            raise ScopeSyntaxError(f"this is no scope: {_FORM}") from error
    return text


GrantText = Annotated[str, AfterValidator(check_grant)]
"""A scope that a role grants."""
