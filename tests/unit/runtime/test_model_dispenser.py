"""The descriptor that gives connections to the model: whatever goes wrong, nobody waits for one in vain."""

import asyncio
import os
import socket

import pytest
from tests.support.descriptor_limit import no_descriptor_left

from toolmesh_runtime.process.model_lines import ModelAnswer, ModelQuestion
from toolmesh_runtime.process.model_socket import model_descriptor
from toolmesh_sdk.model_channel import IPCClient
from toolmesh_sdk.model_descriptor import open_connection

pytestmark = pytest.mark.timeout(30)


async def echo(question: ModelQuestion) -> ModelAnswer:
    """Answers with what was asked."""
    return ModelAnswer(question.user_prompt)


async def answer_of(descriptor: int) -> str:
    """Ask through a new connection."""
    client = IPCClient(f"fd:{descriptor}", timeout_s=10)
    try:
        return await asyncio.to_thread(client.call_llm, "", "hello")
    finally:
        client.close()


@pytest.mark.requirement("process:model")
async def test_empty_packets_are_passed_over() -> None:
    """A tool that sends them does not take the model from its other processes."""
    async with model_descriptor(echo) as descriptor:
        with socket.socket(fileno=os.dup(descriptor)) as dispenser:
            for _ in range(3):
                dispenser.send(b"")
        assert await answer_of(descriptor) == "hello"


@pytest.mark.requirement("process:model")
async def test_lack_of_descriptors_is_told_and_passes() -> None:
    """Who asks meanwhile hears it at once; who asks afterwards has a connection."""
    async with model_descriptor(echo) as descriptor:
        assert await answer_of(descriptor) == "hello"
        with socket.socket(fileno=os.dup(descriptor)) as dispenser:
            dispenser.setblocking(False)
            with no_descriptor_left():
                dispenser.send(b"1")
                told = await asyncio.get_running_loop().sock_recv(dispenser, 1)
        assert told == b"0"
        assert await answer_of(descriptor) == "hello"


@pytest.mark.requirement("process:model")
async def test_who_asks_after_the_serving_ended_hears_it() -> None:
    """The descriptor is still open then, so that the end has to be said."""
    async with model_descriptor(echo) as descriptor:
        with socket.socket(fileno=os.dup(descriptor)) as dispenser:
            dispenser.shutdown(socket.SHUT_WR)
            dispenser.settimeout(10)
            assert await asyncio.to_thread(dispenser.recv, 1) == b""
        with pytest.raises(OSError, match=r"Broken pipe|host closed it"):
            await asyncio.to_thread(open_connection, f"fd:{descriptor}", 10)
