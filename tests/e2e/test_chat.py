"""`toolmesh chat`: a conversation, on a terminal and through a pipe."""

import asyncio
import contextlib
import os
import pty
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.answering_mesh import answering_mesh
from tests.support.running_mesh import start_toolmesh, toolmesh_environment

pytestmark = pytest.mark.timeout(180)


class TerminalProcess:
    """A `toolmesh` command on a terminal of its own."""

    def __init__(self, process: asyncio.subprocess.Process, descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor
        self._seen = ""

    def types(self, text: str) -> None:
        """Press these keys."""
        os.write(self._descriptor, text.encode())

    async def shows(self, text: str) -> str:
        """Wait for a text, and return what came before and with it."""
        async with asyncio.timeout(60):
            while text not in self._seen:
                self._seen += (await asyncio.to_thread(self._read)).decode(errors="replace")
        before, _, self._seen = self._seen.partition(text)
        return before + text

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, 65_536)
        except OSError:
            raise AssertionError(f"the terminal is closed; it showed: {self._seen}") from None


@contextlib.asynccontextmanager
async def on_terminal(*arguments: str, data_folder: Path) -> AsyncIterator[TerminalProcess]:
    """Run a command on a pseudo-terminal; it is killed at the end, if it has not ended."""
    ours, theirs = pty.openpty()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "toolmesh_cli",
            *arguments,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=toolmesh_environment(data_folder) | {"TERM": "dumb"},
            start_new_session=True,
        )
        os.close(theirs)
        try:
            yield TerminalProcess(process, ours)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    finally:
        os.close(ours)


@pytest.mark.requirement("loop:chat")
async def test_an_agent_remembers_the_conversation_until_it_is_told_to_forget(tmp_path: Path) -> None:
    """Text appears as it is written; commands work between tasks; Ctrl-D leaves."""
    async with (
        answering_mesh(tmp_path) as (mesh, server),
        on_terminal("chat", "helper", data_folder=mesh.data_folder) as terminal,
    ):
        await terminal.shows("/help tells")
        await terminal.shows("> ")
        terminal.types('echo {"text": "hi"}\n')
        shown = await terminal.shows("the tool says: you said hi")
        assert "Let me see." in shown
        assert "echo  echoing hi" in shown
        await terminal.shows("> ")
        terminal.types("/tools\n")
        await terminal.shows("echo  Give back a text.")
        terminal.types("/tols\n")
        await terminal.shows("did you mean /tools?")
        terminal.types('echo {"text": "again"}\n')
        await terminal.shows("you said again")
        remembered = server.asked[-2].body["messages"]
        terminal.types("/new\n")
        await terminal.shows("forgotten")
        terminal.types('echo {"text": "new"}\n')
        await terminal.shows("you said new")
        forgotten = server.asked[-2].body["messages"]
        await terminal.shows("> ")
        terminal.types("\x04")
        async with asyncio.timeout(20):
            assert await terminal.process.wait() == 0
    assert [one["role"] for one in remembered] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert [one["role"] for one in forgotten] == ["system", "user"]


async def test_ctrl_c_gives_the_task_up_and_then_ends_the_conversation(tmp_path: Path) -> None:
    """A history with a call that was given up is one that the provider takes."""
    async with (
        answering_mesh(tmp_path) as (mesh, server),
        on_terminal("chat", "helper", data_folder=mesh.data_folder) as terminal,
    ):
        await terminal.shows("> ")
        terminal.types('sleep {"seconds": 100}\n')
        await terminal.shows("sleep  sleeping")
        terminal.process.send_signal(signal.SIGINT)
        await terminal.shows("given up")
        await terminal.shows("> ")
        terminal.types('echo {"text": "hi"}\n')
        await terminal.shows("you said hi")
        results = [one["content"] for one in server.asked[-2].body["messages"] if one["role"] == "tool"]
        await terminal.shows("> ")
        terminal.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(20):
            assert await terminal.process.wait() == 130
    assert len(results) == 1
    assert "outcome unknown" in results[0]


async def test_lines_of_a_pipe_are_answered_one_by_one(tmp_path: Path) -> None:
    """Answers alone are on stdout; an error of one line does not end the others."""
    async with answering_mesh(tmp_path) as (mesh, _):
        lines = b'echo {"text": "one"}\n\n/quti\nfail {"reason": "rain"}\necho {"text": "two"}'
        done = await mesh.toolmesh("chat", "helper", stdin=lines)
        unknown = await mesh.toolmesh("chat", "helpr", stdin=b"")
    assert done.code == 0, done.stderr
    answers = [line for line in done.stdout.splitlines() if "the tool says" in line]
    assert len(answers) == 3
    for answer, words in zip(answers, ("you said one", "failed because rain", "you said two"), strict=True):
        assert words in answer
    assert "did you mean /quit?" in done.stderr
    assert unknown.code == 2
    assert "did you mean 'helper'?" in unknown.stderr


async def test_a_conversation_ends_when_nobody_reads_it(tmp_path: Path) -> None:
    """Without working through the lines that are left."""
    async with answering_mesh(tmp_path) as (mesh, server):
        process = await start_toolmesh("chat", "helper", data_folder=mesh.data_folder, stdin=asyncio.subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'echo {"text": "one"}\n')
        async with asyncio.timeout(60):
            assert await process.stdout.readline()
            process.stdout._transport.close()  # type: ignore[attr-defined]
            process.stdin.write(b'echo {"text": "two"}\necho {"text": "three"}\n')
            _, stderr = await process.communicate()
        questions = len(server.asked)
    assert process.returncode == 141, stderr
    assert questions == 4


@pytest.mark.requirement("loop:approval")
async def test_an_approval_is_asked_once_in_place(tmp_path: Path) -> None:
    """On a terminal: the question with its arguments, a prompt for the answer, and then the task goes on."""
    async with (
        answering_mesh(tmp_path, approved=("echo",)) as (mesh, _),
        on_terminal("chat", "helper", data_folder=mesh.data_folder) as terminal,
    ):
        await terminal.shows("> ")
        terminal.types('echo {"text": "hi"}\n')
        asked = await terminal.shows("yes or no> ")
        terminal.types("yes\n")
        answered = await terminal.shows("you said hi")
    assert 'asks: Say hi? {"text": "hi"}' in asked
    assert "echo  answered by developer: yes" in answered
    assert "yes or no" not in answered
