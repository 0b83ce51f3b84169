"""What a question to the model may be; what is wrong is told before anything is sent."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TOKENS = 1_000_000
LONGEST_WAIT_S = 86_400


def question_problems(
    system_prompt: object,
    user_prompt: object,
    temperature: object,
    model: object,
    max_tokens: object,
    timeout_s: object,
) -> list[str]:
    """Return what is wrong with the arguments of `ask_model`, each with what to give instead."""
    prompts = {"system_prompt": system_prompt, "user_prompt": user_prompt, "model": model}
    return [
        *_no_texts(prompts),
        *_no_temperature(temperature),
        *_no_count(max_tokens),
        *_no_wait(timeout_s),
    ]


def _no_texts(values: dict[str, object]) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, bytes | bytearray):
            yield f"{name} is bytes; give text, such as {name}.decode()"
        elif not isinstance(value, str):
            yield f"{name} is {type(value).__name__}; give text"


def _no_temperature(value: object) -> Iterator[str]:
    if not _is_within(value, 0, 2):
        yield f"temperature is {_shown(value)}; give a number from 0 to 2"


def _no_count(value: object) -> Iterator[str]:
    if value is not None and (type(value) is not int or not 1 <= value <= MAX_TOKENS):
        yield f"max_tokens is {_shown(value)}; give a whole number from 1 to {MAX_TOKENS}, or None"


def _no_wait(value: object) -> Iterator[str]:
    if value is not None and (value == 0 or not _is_within(value, 0, LONGEST_WAIT_S)):
        yield f"timeout_s is {_shown(value)}; give a number of seconds above 0, at most {LONGEST_WAIT_S}, or None"


def _is_within(value: object, least: int, most: int) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - of a tool's own type, or an integer of too many digits
        return f"a {type(value).__name__} that can't be shown"
    return text if len(text) <= 80 else f"{text[:80]}..."
