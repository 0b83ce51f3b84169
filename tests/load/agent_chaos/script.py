"""What the agents' model does: two calls at once, one more, perhaps another agent, an answer."""

import json
from typing import Final

from tests.support.effects import Effects

from toolmesh_scripted_model import Question, Said, Turn

__all__ = ["AGENTS", "agent_of", "effect_names", "rule"]

AGENTS: Final = ("lead", "hand", "careful")
"""The last one asks a person before each call."""
_EFFECT_S: Final = 0.3
_EACH_ASKS_A_PEER: Final = 4
_EACH_ASKS_A_PERSON: Final = 5


def agent_of(task: str) -> str:
    """Who is asked."""
    return "careful" if int(task) % _EACH_ASKS_A_PERSON == 0 else "lead"


def effect_names(task: str) -> list[str]:
    """The effects that a task has, its peer's among them."""
    number = int(task.split("-")[0])
    own = [f"{task}-a", f"{task}-b", f"{task}-c"]
    if number % _EACH_ASKS_A_PEER == 0 and "-" not in task:
        return [*own, *effect_names(f"{task}-peer")]
    return own


def rule(asked: Question, effects: Effects) -> Turn:
    """Go on from how often the model has spoken in this task."""
    task, spoken = asked.user.strip(), sum(one["role"] == "assistant" for one in asked.body["messages"])
    if spoken == 0:
        return _calls(_effect(effects, f"{task}-a"), _effect(effects, f"{task}-b"))
    if spoken == 1:
        calls = [_effect(effects, f"{task}-c")]
        if len(effect_names(task)) > len(calls) + 2:
            calls.append(("peer_hand", json.dumps({"text": f"{task}-peer"})))
        return _calls(*calls)
    return Turn(said=Said(text=f"task {task} is done: {', '.join(asked.results)[:200]}"), pieces=20)


def _effect(effects: Effects, name: str) -> tuple[str, str]:
    return "effect", json.dumps({"name": name, "file": str(effects.file), "seconds": _EFFECT_S})


def _calls(*calls: tuple[str, str]) -> Turn:
    return Turn(said=Said(text="Let me see.", tool_calls=calls))
