"""`call_llm` against a real unix socket: good, odd, late and lost answers."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.tool_process import ToolProcess

from toolmesh_sdk import IPCError, ToolContext

Answer = Callable[[dict[str, Any], socket.socket], None]


@contextmanager
def host_socket(path: Path, answer: Answer) -> Iterator[list[dict[str, Any]]]:
    """A host that hands each request line to `answer`, over as many connections as are made."""
    requests: list[dict[str, Any]] = []
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    connections: list[socket.socket] = []

    def serve(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            for line in lines:
                requests.append(json.loads(line))
                try:
                    answer(requests[-1], connection)
                except OSError:
                    return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connections.append(connection)
            thread = threading.Thread(target=serve, args=(connection,))
            threads.append(thread)
            thread.start()

    threads = [threading.Thread(target=accept)]
    threads[0].start()
    try:
        yield requests
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in threads:
            thread.join(timeout=10)


def send(connection: socket.socket, message: Any) -> None:
    """Send one line."""
    connection.sendall((message if isinstance(message, str) else json.dumps(message)).encode() + b"\n")


def replying(**fields: Any) -> Answer:
    """Answer every request with these fields and its id."""
    return lambda request, connection: send(connection, {"jsonrpc": "2.0", "id": request["id"], **fields})


def test_a_sync_and_an_async_tool_ask_the_model(tool: ToolProcess) -> None:
    """The request has exactly the contract's form; ids count up on one connection."""
    tool.write(
        """
        from toolmesh_sdk import ToolContext, tool_cli

        async def ask(ctx: ToolContext):
            "Ask twice."
            first = ctx.call_llm("sys", "hello", 0.1)
            return [first, await ctx.call_llm_async("sys", "again")]

        tool_cli(ask)()
        """
    )
    path = tool.folder / "ipc.sock"
    with host_socket(path, replying(result={"text": "hi"})) as requests:
        outcome = tool.call(ipc_socket=str(path))
    assert outcome.result["text"] == '["hi", "hi"]'
    assert requests == [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "llm/call",
            "params": {"system_prompt": "sys", "user_prompt": prompt, "temperature": temperature},
        }
        for number, prompt, temperature in (("1", "hello", 0.1), ("2", "again", 0.7))
    ]


def test_a_large_answer_in_many_parts_is_read_whole(tmp_path: Path) -> None:
    """Five megabytes, as the contract's measurements had it."""
    text = "long " * 1_000_000
    context = ToolContext(ipc_socket_path=str(tmp_path / "s"))
    with host_socket(tmp_path / "s", replying(result={"text": text})):
        assert context.call_llm("s", "u") == text
        context.close()


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ({"error": {"code": -32000, "message": "quota"}}, "IPC error -32000: quota"),
        ({"error": "a string"}, "IPC error: a string"),
        ({"result": {"no": "text"}}, "has no text"),
        ({"result": {"text": 5}}, "has no text"),
        ({}, "neither result nor error"),
        ([1], "not an object"),
        ("no json", "not JSON"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_odd_answers_are_ipc_errors(tmp_path: Path, reply: Any, message: str) -> None:
    """Whatever a host says, a tool that expects IPCError gets it."""

    def answer(request: dict[str, Any], connection: socket.socket) -> None:
        send(connection, {"id": request["id"], **reply} if isinstance(reply, dict) else reply)

    context = ToolContext(ipc_socket_path=str(tmp_path / "s"))
    with host_socket(tmp_path / "s", answer):
        with pytest.raises(IPCError, match=message):
            context.call_llm("s", "u")
        context.close()


@pytest.mark.parametrize(
    ("data", "retryable"), [({"retryable": True}, True), ({"retryable": 1}, False), ("yes", False), (None, False)]
)
def test_host_says_whether_asking_again_may_help(tmp_path: Path, data: Any, *, retryable: bool) -> None:
    """A tool can tell a model that is overloaded from one that will never answer this."""
    error = {"code": -32000, "message": "later", "data": data}
    context = ToolContext(ipc_socket_path=str(tmp_path / "s"))
    with host_socket(tmp_path / "s", replying(error=error)):
        with pytest.raises(IPCError, match="later") as caught:
            context.call_llm("s", "u")
        context.close()
    assert caught.value.retryable is retryable


class _Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout_s": -1}, "timeout_s is -1; give a number of seconds above 0, at most 86400, or None"),
        ({"timeout_s": 0}, "timeout_s is 0; "),
        ({"timeout_s": float("inf")}, "timeout_s is inf; "),
        ({"timeout_s": float("nan")}, "timeout_s is nan; "),
        ({"timeout_s": "x"}, "timeout_s is 'x'; "),
        ({"timeout_s": True}, "timeout_s is True; "),
        ({"timeout_s": _Unshowable()}, "timeout_s is a _Unshowable that can't be shown; "),
        ({"timeout_s": 10**5000}, "timeout_s is a int that can't be shown; "),
        ({"user_prompt": b"why"}, r"user_prompt is bytes; give text, such as user_prompt.decode\(\)"),
        ({"user_prompt": None}, "user_prompt is NoneType; give text"),
        ({"system_prompt": 5}, "system_prompt is int; give text"),
        ({"temperature": "hot"}, "temperature is 'hot'; give a number from 0 to 2"),
        ({"temperature": float("nan")}, "temperature is nan; "),
        ({"temperature": None}, "temperature is None; "),
        ({"model": b"a/b"}, "model is bytes; give text"),
        ({"max_tokens": 0}, "max_tokens is 0; give a whole number from 1 to 1000000, or None"),
        ({"max_tokens": 5.0}, "max_tokens is 5.0; "),
        ({"max_tokens": "many", "user_prompt": None}, "user_prompt is NoneType; give text; max_tokens is 'many'"),
    ],
)
def test_arguments_that_cannot_be_sent_are_ipc_errors(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    """All at once, each with what to give; nothing is sent, and the connection serves the next question."""
    context = ToolContext(ipc_socket_path=str(tmp_path / "s"))
    good: dict[str, Any] = {"system_prompt": "s", "user_prompt": "u"}
    with host_socket(tmp_path / "s", replying(result={"text": "hi"})) as requests:
        assert context.ask_model(**good).text == "hi"
        with pytest.raises(IPCError, match=f"the question can't be asked: {said}") as caught:
            context.ask_model(**good | given)
        assert context.ask_model(**good).text == "hi"
        context.close()
    assert not caught.value.retryable
    assert len(requests) == 2


def test_notifications_and_answers_to_other_calls_are_passed_over(tmp_path: Path) -> None:
    """The published client took any line for the answer, and was off by one ever after."""

    def answer(request: dict[str, Any], connection: socket.socket) -> None:
        send(connection, {"jsonrpc": "2.0", "method": "notice"})
        send(connection, {"jsonrpc": "2.0", "id": "999", "result": {"text": "not yours"}})
        send(connection, {"jsonrpc": "2.0", "id": request["id"], "result": {"text": f"answer {request['id']}"}})

    context = ToolContext(ipc_socket_path=str(tmp_path / "s"))
    with host_socket(tmp_path / "s", answer):
        assert [context.call_llm("s", "u") for _ in range(3)] == ["answer 1", "answer 2", "answer 3"]
        context.close()


def test_an_answer_without_an_id_is_taken(tmp_path: Path) -> None:
    """A host that is older than ids still gets through."""
    context = ToolContext(ipc_socket_path=str(tmp_path / "s"))
    with host_socket(tmp_path / "s", lambda _request, connection: send(connection, {"result": "plain text"})):
        assert context.call_llm("s", "u") == "plain text"
        context.close()


def test_a_silent_host_is_a_timeout_and_its_late_answer_is_not_the_next_one(tmp_path: Path) -> None:
    """The call ends in bounded time, says that it may be tried again, and the connection stays usable."""

    def answer(request: dict[str, Any], connection: socket.socket) -> None:
        if request["id"] == "2":
            send(connection, {"id": "1", "result": {"text": "late"}})
            send(connection, {"id": "2", "result": {"text": "in time"}})

    context = ToolContext(ipc_socket_path=str(tmp_path / "s"))
    with host_socket(tmp_path / "s", answer):
        with pytest.raises(IPCError, match=r"no answer to llm/call within 0.05 s") as caught:
            context.call_llm("s", "u", timeout_s=0.05)
        assert caught.value.retryable
        assert context.call_llm("s", "u") == "in time"
        context.close()


def test_threads_and_forked_children_wait_for_one_another_in_bounded_time(tool: ToolProcess) -> None:
    """A thread whose turn does not come hears it after its own time; a child has no part in its parent's lock."""
    tool.write(
        """
        import os, threading, time
        from toolmesh_sdk import IPCError, ToolContext, tool_cli

        def ask(ctx: ToolContext):
            "Ask in a thread, beside it, and in a child."
            heard = []
            slow = threading.Thread(target=lambda: heard.append(ctx.call_llm("s", "slow", timeout_s=30)))
            slow.start()
            while not os.path.exists("asked"):
                time.sleep(0.01)
            try:
                ctx.call_llm("s", "beside", timeout_s=0.05)
            except IPCError as problem:
                heard.append(f"{problem} {problem.retryable}")
            child = os.fork()
            if not child:
                said = ctx.call_llm("s", "child", timeout_s=20)
                with open("child", "w") as file:
                    file.write(said)
                os._exit(0)
            os.waitpid(child, 0)
            with open("child") as file:
                heard.append(file.read())
            slow.join()
            return heard

        tool_cli(ask)()
        """
    )
    heard_the_child = threading.Event()

    def answer(request: dict[str, Any], connection: socket.socket) -> None:
        prompt = request["params"]["user_prompt"]
        if prompt == "slow":
            (tool.folder / "asked").touch()
            heard_the_child.wait(30)
        else:
            heard_the_child.set()
        send(connection, {"id": request["id"], "result": {"text": f"answer to {prompt}"}})

    path = tool.folder / "ipc.sock"
    with host_socket(path, answer):
        outcome = tool.call(ipc_socket=str(path))
    assert sorted(json.loads(outcome.result["text"])) == [
        "answer to child",
        "answer to slow",
        "no answer to llm/call within 0.05 s: others are waited for True",
    ]


def test_a_lost_connection_is_an_error_and_the_next_call_connects_anew(tmp_path: Path) -> None:
    """The published client stayed broken for the rest of the process."""

    def answer(request: dict[str, Any], connection: socket.socket) -> None:
        if request["id"] == "1":
            connection.shutdown(socket.SHUT_RDWR)
            raise OSError
        send(connection, {"id": request["id"], "result": {"text": "back"}})

    context = ToolContext(ipc_socket_path=str(tmp_path / "s"))
    with host_socket(tmp_path / "s", answer):
        with pytest.raises(IPCError, match="the connection to the host failed: the host closed it"):
            context.call_llm("s", "u")
        assert context.call_llm("s", "u") == "back"
        context.close()


def test_no_socket_and_no_listener_are_ipc_errors(tmp_path: Path) -> None:
    """A tool can go on without a model."""
    with pytest.raises(IPCError, match="LLM calls not available"):
        ToolContext().call_llm("s", "u")
    with pytest.raises(IPCError, match="the connection to the host failed"):
        ToolContext(ipc_socket_path=str(tmp_path / "none")).call_llm("s", "u")
    with pytest.raises(IPCError, match="AF_UNIX path too long"):
        ToolContext(ipc_socket_path="/" + "x" * 200).call_llm("s", "u")
