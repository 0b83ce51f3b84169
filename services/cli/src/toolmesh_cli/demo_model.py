"""What the demo's model says, so that the demo needs no provider and no key."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from toolmesh_scripted_model import Question, Said, Turn, scripted_model

__all__ = ["QUESTION", "demo_model"]

QUESTION = "What is the weather in Oslo, and which book about otters can I read there?"


@asynccontextmanager
async def demo_model() -> AsyncIterator[Mapping[str, str]]:
    """Serve the model on loopback inside the block; give the variables that lead an executor to it."""
    async with scripted_model(_say) as server:
        yield {
            "TOOLMESH_MODEL": "openai/scripted",
            "OPENAI_BASE_URL": server.openai_url,
            "OPENAI_API_KEY": "none-needed",
        }


def _say(asked: Question) -> Turn:
    """Speak for the weather agent, which asks the library's desk, and for that desk."""
    desk = "find_books" in asked.tools
    if asked.results:
        return Turn(said=Said(text=_of_books(asked.results[0]) if desk else _first_lines(asked.results)), pieces=24)
    if desk:
        return Turn(said=Said(tool_calls=[("find_books", json.dumps({"word": "otter"}))]))
    wanted = [("weather", {"city": "Oslo"}), ("peer_library_desk", {"text": "Which book do you have about otters?"})]
    return Turn(said=Said(tool_calls=[(tool, json.dumps(arguments)) for tool, arguments in wanted]))


def _of_books(found: str) -> str:
    books = json.loads(found)
    if not books:
        return "The library has no book about that."
    return f"The library has {books[0]['title']!r} by {books[0]['author']}."


def _first_lines(results: Sequence[str]) -> str:
    return " ".join(result.splitlines()[0] for result in results if result)
