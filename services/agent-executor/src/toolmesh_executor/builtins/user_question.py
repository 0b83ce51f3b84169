"""`ask_user_question`: the task waits until the person who gave it has answered."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_executor.builtins.builtin_tool import BuiltinTool
from toolmesh_executor.loop.toolbox import ToolOutcome

__all__ = ["ASK_USER"]


def _run(arguments: Mapping[str, Any]) -> ToolOutcome:
    return ToolOutcome(outcome=Outcome.PENDING, content="\n".join(_lines(arguments)))


def _lines(arguments: Mapping[str, Any]) -> Iterator[str]:
    if message := arguments.get("message"):
        yield message
    questions = arguments["questions"]
    for number, question in enumerate(questions, 1):
        place = f"{number}. " if len(questions) > 1 else ""
        several = " (several may be chosen)" if question.get("multiSelect") else ""
        example = f" (such as {question['placeholder']})" if question.get("placeholder") else ""
        yield f"{place}{question['question']}{several}{example}"
        for option in question.get("options", ()):
            described = f": {option['description']}" if option.get("description") else ""
            yield f"- {option['label']}{described}"


_OPTION: Final = {
    "type": "object",
    "properties": {"label": {"type": "string", "minLength": 1}, "description": {"type": "string"}},
    "required": ["label"],
}
_QUESTION: Final = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "minLength": 1},
        "header": {"type": "string", "maxLength": 12, "description": "A word or two for a narrow place."},
        "options": {
            "type": "array",
            "items": _OPTION,
            "maxItems": 4,
            "description": "What may be chosen; the user can answer otherwise, too.",
        },
        "placeholder": {"type": "string", "description": "An example of an answer."},
        "multiSelect": {"type": "boolean", "description": "Whether several options may be chosen."},
    },
    "required": ["question"],
}

ASK_USER: Final = BuiltinTool(
    name="ask_user_question",
    description=(
        "Ask the user what you need to know before you can go on, and wait for the answer, which is in the user's own "
        "words. Ask only what you can't find out, all of it at once."
    ),
    parameters={
        "type": "object",
        "properties": {
            "questions": {"type": "array", "items": _QUESTION, "minItems": 1, "maxItems": 4},
            "message": {"type": "string", "description": "What the user should know before the questions."},
        },
        "required": ["questions"],
    },
    run=_run,
    is_repeatable=True,
)
