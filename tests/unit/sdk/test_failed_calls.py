"""Tools that fail, exit, are stopped, or are started wrongly: the caller gets an envelope whenever that is possible."""

import json
import signal
import time
from pathlib import Path

import pytest
from tests.support.tool_process import ToolProcess

FAILURES = """
    import asyncio, sys
    from toolmesh_sdk import DynamicToolProvider, ToolError, ToolResult, provider_cli

    class Failures(DynamicToolProvider):
        def create_tools(self, tool_config=None):
            return []

    class Strange(BaseException):
        pass

    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    @Failures.register_tool
    def do(statement: str):
        "Run a statement."
        exec(statement, globals())

    @Failures.register_tool
    async def do_async(statement: str):
        "Run a statement in an event loop."
        exec(statement, globals())

    provider_cli(Failures)()
"""

ENDINGS = [
    ("raise ValueError('no such city')", "ValueError", "Execution error: ValueError: no such city", False),
    ("raise KeyError('city')", "KeyError", "Execution error: KeyError: 'city'", False),
    ("raise ToolError('try later', retryable=True)", "ToolError", "Execution error: try later", True),
    ("raise TimeoutError('slow')", "TimeoutError", "Execution error: TimeoutError: slow", True),
    ("raise Strange('odd')", "Strange", "Execution error: Strange: odd", False),
    ("raise Mute()", "Mute", "Execution error: Mute: no message", False),
    ("raise asyncio.CancelledError()", "CancelledError", "Execution error: CancelledError: no message", False),
    ("def f(): f()\nf()", "RecursionError", "Execution error: RecursionError: ", False),
    ("sys.exit(0)", "SystemExit", "Execution error: SystemExit: the tool ended itself by sys.exit(0)", False),
    ("sys.exit(3)", "SystemExit", "Execution error: SystemExit: the tool ended itself by sys.exit(3)", False),
]


@pytest.mark.parametrize("name", ["do", "do_async"])
@pytest.mark.parametrize(("statement", "kind", "error", "retryable"), ENDINGS, ids=[row[0] for row in ENDINGS])
def test_whatever_a_tool_raises_its_caller_gets_an_envelope(
    venv_tool: ToolProcess, name: str, statement: str, kind: str, error: str, retryable: bool
) -> None:
    """Also exits and exceptions beyond Exception, which used to leave no result at all."""
    venv_tool.write(FAILURES)
    outcome = venv_tool.call({"statement": statement}, tool_name=name)
    assert outcome.error.startswith(error)
    assert outcome.exit_code == 0
    assert outcome.envelope is not None
    detail = outcome.envelope["error_detail"]
    assert detail["type"] == kind
    assert detail["retryable"] is retryable


def test_the_traceback_goes_to_stderr_and_not_to_the_model(tool: ToolProcess) -> None:
    """Paths and source lines are the operator's; of the SDK's own frames nobody wants any."""
    tool.write(FAILURES)
    outcome = tool.call({"statement": "raise ValueError('boom')"}, tool_name="do")
    assert "Traceback" not in outcome.error
    assert "Traceback" in outcome.stderr
    assert "toolmesh_sdk" not in outcome.stderr
    assert "exec(statement, globals())" in outcome.stderr


def test_what_a_call_has_wrong_has_no_traceback(tool: ToolProcess) -> None:
    """No line of the tool or the SDK is at fault; the log says it in one line."""
    tool.write(FAILURES)
    for outcome in (tool.call({"statemnt": "1"}, tool_name="do"), tool.call({}, tool_name="does")):
        assert outcome.error
        assert "Traceback" not in outcome.stderr
        assert len(outcome.stderr.splitlines()) == 1


def test_an_interrupt_ends_with_its_signals_code_and_an_envelope(tool: ToolProcess) -> None:
    """A host that interrupts still learns what happened."""
    tool.write(FAILURES)
    outcome = tool.call({"statement": "raise KeyboardInterrupt"}, tool_name="do")
    assert "KeyboardInterrupt" in outcome.error
    assert outcome.exit_code == 128 + signal.SIGINT


def test_a_tool_can_end_children_that_it_forked(tool: ToolProcess) -> None:
    """A pool ends its processes so and waits for them: at once, or as they begin to wait, the signal is never lost."""
    tool.write(
        """
        import os, signal, time
        from toolmesh_sdk import tool_cli

        def end():
            "End children that would swallow any exception."
            ended = []
            for number in range(100):
                ready, started = os.pipe()
                child = os.fork()
                if child == 0:
                    os.write(started, b".")
                    while True:
                        try:
                            time.sleep(0.1)
                            os._exit(0)
                        except BaseException:
                            pass
                if number % 2:
                    os.read(ready, 1)
                os.kill(child, signal.SIGTERM)
                ended.append(os.waitpid(child, 0)[1])
                os.close(ready)
                os.close(started)
            return [status for status in ended if os.WTERMSIG(status) != signal.SIGTERM]

        tool_cli(end)()
        """
    )
    assert tool.call({}).result["text"] == "[]"


@pytest.mark.parametrize("form", ["def", "async def"])
def test_termination_cancels_the_tool_runs_its_finally_and_writes_an_envelope(tool: ToolProcess, form: str) -> None:
    """TERM is how a host cancels; `except Exception` must not swallow it."""
    wait = "await asyncio.sleep(60)" if form == "async def" else "time.sleep(60)"
    tool.write(
        f"""
        import asyncio, pathlib, time
        from toolmesh_sdk import tool_cli

        {form} wait(ctx=None):
            "Wait for a minute."
            try:
                pathlib.Path("started").touch()
                {wait}
            except Exception:
                return "swallowed"
            finally:
                pathlib.Path("cleaned").touch()

        tool_cli(wait)()
        """
    )
    with tool.start(tool.arguments_file()) as process:
        deadline = time.monotonic() + 20
        while not (tool.folder / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=20)
    outcome = tool.outcome(process.returncode, stdout, stderr)
    assert "cancelled by the host" in outcome.error
    assert outcome.exit_code == 128 + signal.SIGTERM
    assert (tool.folder / "cleaned").exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file"),
        (b"", "Expecting value"),
        (b"[]", "must be a JSON object, is a list"),
        (b"{", "Expecting property name"),
        (b"\xff\xfe", "codec can't decode"),
    ],
)
def test_an_unusable_arguments_file_is_told_on_stderr(
    venv_tool: ToolProcess, content: bytes | None, reason: str
) -> None:
    """Nobody knows where a result would go, so this alone ends with 1 and no result."""
    venv_tool.write(FAILURES)
    path = venv_tool.folder / "bad.json"
    if content is not None:
        path.write_bytes(content)
    code, stdout, stderr = venv_tool.run(str(path))
    assert (code, stdout) == (1, "")
    assert reason in stderr
    assert "Traceback" not in stderr


def test_no_arguments_print_the_usage(tool: ToolProcess) -> None:
    """As the contract has it: usage on stderr, exit 1."""
    tool.write(FAILURES)
    code, stdout, stderr = tool.run()
    assert (code, stdout) == (1, "")
    assert stderr.startswith("usage:")


def test_null_containers_and_a_byte_order_mark_are_tolerated(tool: ToolProcess) -> None:
    """Each of them used to crash the tool before it ran."""
    tool.write(FAILURES)
    path = tool.arguments_file(
        {"statement": "pass"},
        tool_name="do",
        tool_config=None,
        artifact_metadata=None,
        artifact_paths=None,
        volume_mounts=None,
        a2a_user_config=None,
        status_pipe=None,
        output_dir=None,
    )
    Path(path).write_bytes(b"\xef\xbb\xbf" + Path(path).read_bytes())
    outcome = tool.outcome(*tool.run(path))
    assert outcome.result == {"text": None, "data_objects": []}


def test_arguments_that_are_no_object_are_an_error_envelope(tool: ToolProcess) -> None:
    """A list of arguments is the host's mistake, told to it."""
    tool.write(FAILURES)
    assert "args must be an object" in tool.call([1, 2], tool_name="do").error


def test_without_a_result_file_stdout_holds_the_envelope_alone(tool: ToolProcess) -> None:
    """What the tool prints goes to stderr then."""
    tool.write(FAILURES)
    path = tool.arguments_file({"statement": "print('noise')"}, tool_name="do", result_file="")
    code, stdout, stderr = tool.run(path)
    assert code == 0
    assert json.loads(stdout) == {"result": {"text": None, "data_objects": []}, "error": ""}
    assert "noise" in stderr


def test_a_result_is_whole_or_absent_and_replaces_what_was_there(tool: ToolProcess) -> None:
    """A reader that polls for the file never sees half of it; mode 0600, no draft left behind."""
    tool.write(FAILURES)
    target = tool.folder / "result.json"
    target.symlink_to(tool.folder / "elsewhere")
    outcome = tool.call({"statement": "pass"}, tool_name="do")
    assert outcome.result == {"text": None, "data_objects": []}
    assert not target.is_symlink()
    assert not (tool.folder / "elsewhere").exists()
    assert target.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tool.folder.iterdir() if entry.name.endswith(".tmp")] == []


def test_an_unwritable_result_ends_with_1_and_a_reason(venv_tool: ToolProcess) -> None:
    """The host finds no file and reads why on stderr."""
    venv_tool.write(FAILURES)
    path = venv_tool.arguments_file({"statement": "pass"}, tool_name="do", result_file="/proc/nowhere/result.json")
    code, _, stderr = venv_tool.run(path)
    assert code == 1
    assert "the result could not be written" in stderr


def test_an_abrupt_exit_leaves_no_result_and_the_exit_code(venv_tool: ToolProcess) -> None:
    """The one thing an SDK cannot catch; the host goes by the code."""
    venv_tool.write(FAILURES)
    outcome = venv_tool.call({"statement": "import os; os._exit(9)"}, tool_name="do")
    assert outcome.envelope is None
    assert outcome.exit_code == 9


def test_a_cancelled_tool_can_end_children_that_it_forks_while_it_cleans_up(tool: ToolProcess) -> None:
    """The tool itself is cancelled once; that is not its children's."""
    tool.write(
        """
        import os, signal, sys, time
        from toolmesh_sdk import tool_cli

        def end():
            "Clean up with a child."
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(10)
            finally:
                child = os.fork()
                if child == 0:
                    time.sleep(10)
                    os._exit(0)
                os.kill(child, signal.SIGTERM)
                print(f"child: {os.waitpid(child, 0)[1]}", file=sys.stderr)

        tool_cli(end)()
        """
    )
    assert f"child: {int(signal.SIGTERM)}" in tool.call({}).stderr


def test_a_tool_that_holds_signals_back_itself_still_does_after_a_fork(tool: ToolProcess) -> None:
    """In itself and in its child, as without the SDK."""
    tool.write(
        """
        import os, signal
        from toolmesh_sdk import tool_cli

        def held():
            "Fork with SIGTERM held back."
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            child = os.fork()
            still = signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, [])
            if child == 0:
                os._exit(int(still))
            return [still, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]

        tool_cli(held)()
        """
    )
    assert tool.call({}).result["text"] == "[true, 1]"
