"""A mesh with an agent whose scripted model calls the tool that it is asked for, and tells what came of it."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.running_mesh import RunningMesh, running_mesh
from tests.support.sample_toolsets import ECHO, FAILING, SLEEPING, write_toolset

from toolmesh_scripted_model import Question, Said, ScriptedModel, Turn, scripted_model

__all__ = ["KEY", "answering_mesh"]

_HIL = ", hil: {require_approval: true, approval_message: 'Say {{ text }}?'}"
KEY = "sk-zebra-crossing-9"


def _calls_then_tells(asked: Question) -> Turn:
    """Call the tool that the question names, then tell what came of it."""
    if asked.results:
        return Turn(said=Said(text=f"the tool says: {asked.results[-1]}"))
    tool, _, arguments = asked.user.partition(" ")
    return Turn(said=Said(text="Let me see.", tool_calls=[(tool, arguments)]))


@asynccontextmanager
async def answering_mesh(
    folder: Path,
    also: Mapping[str, Sequence[str]] | None = None,
    options: Sequence[str] = (),
    approved: Sequence[str] = (),
) -> AsyncIterator[tuple[RunningMesh, ScriptedModel]]:
    """Run it with the tools `echo`, `fail`, `sleep` and `guarded`, which needs a scope, and an agent `helper`.

    Beside it there is `plain`, an agent without a model.

    Args:
        folder: Where its files are written.
        also: More agents like it, each with the scopes of its own that it asks of its callers.
        options: More of `toolmesh up`.
        approved: Tools that a person has to agree to.
    """
    toolset = write_toolset(
        folder / "tools",
        {
            "echo": (ECHO, {}),
            "fail": (FAILING, {}),
            "sleep": (SLEEPING, {}),
            "guarded": (ECHO, {"required_scopes": ["tool:guarded:call"]}),
        },
    )
    async with scripted_model(_calls_then_tells) as server:
        model = f"{{model: openai/small, api_base: '{server.openai_url}', api_key: {KEY}}}"
        agents = folder / "agents.yaml"
        names = "".join(
            f"      - {{tool_type: builtin, tool_name: {name}{_HIL if name in approved else ''}}}\n"
            for name in ("echo", "fail", "sleep", "guarded")
        )
        asked_of_callers = {"helper": ()} | dict(also or {})
        agents.write_text(
            "agents:\n"
            + "".join(
                f"  - name: {name}\n    instruction: Help.\n    model: {model}\n"
                f"    required_scopes: {json.dumps(list(scopes))}\n    tools:\n{names}"
                for name, scopes in asked_of_callers.items()
            )
        )
        plain = folder / "plain.yaml"
        plain.write_text("agent_name: plain\n")
        async with running_mesh([toolset], options=("--agents", str(agents), "--agents", str(plain), *options)) as mesh:
            yield mesh, server
