"""Places at the providers are shared among calls."""

import asyncio
import contextlib
import time

import pytest

from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.models.errors import ModelError
from toolmesh_executor.models.places import Places


@pytest.mark.requirement("models:bounds")
async def test_one_call_can_not_hold_all_places() -> None:
    """It waits for its own, while other calls still find theirs, as long as there are any at all."""
    places = Places(8)
    later, now = time.time() + 60, time.time()
    async with contextlib.AsyncExitStack() as held:
        for call in ("a", "b", "c"):
            for _ in range(2):
                await held.enter_async_context(places.held("p", call, later))
        with pytest.raises(ModelError) as own:
            async with places.held("p", "a", now):
                pass
        for _ in range(2):
            await held.enter_async_context(places.held("other", "a", later))
        with pytest.raises(ModelError) as all_taken:
            async with places.held("p", "d", now):
                pass
    assert (own.value.code, all_taken.value.code) == (ErrorCode.RESOURCE_EXHAUSTED,) * 2
    async with places.held("p", "a", now):
        pass


async def test_waiting_question_has_the_place_that_becomes_free_and_calls_are_forgotten() -> None:
    """Also with a single place; one that gives up waiting takes none along."""
    places = Places(1)
    order: list[str] = []

    async def ask(call: str) -> None:
        async with places.held("p", call, time.time() + 60):
            order.append(call)

    async with places.held("p", "first", time.time()):
        asked = [asyncio.create_task(ask(call)) for call in ("gone", "second")]
        await asyncio.sleep(0)
        asked[0].cancel()
        await asyncio.wait(asked[:1])
        assert order == []
    await asked[1]
    assert order == ["second"]
    assert places._calls == {}
