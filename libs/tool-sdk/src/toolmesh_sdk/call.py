"""One call from its arguments file to its result file."""

from __future__ import annotations

import sys
from os import register_at_fork

from .calling import Awaiting, call_with, can_be_called_with
from .context import SandboxToolContextFacade
from .envelope import error_envelope, exit_code, success_envelope
from .errors import InvalidArgumentsError, ToolCancelledError, UnknownToolError
from .invocation import read_invocation
from .outcome import outcome_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from .invocation import Invocation
    from .tool_sets import ChosenTool, ToolSet


def run_call(tools: ToolSet, arguments_file: str) -> int:
    """Run the call that a file describes and write its envelope; return the exit code.

    Raises:
        RunnerArgsError: The file cannot be used, so that nobody knows where a result would go.
    """
    invocation = read_invocation(arguments_file)
    context = SandboxToolContextFacade.for_invocation(invocation)
    _configure_logging()
    standard_output = sys.stdout
    if not invocation.result_file:
        sys.stdout = sys.stderr  # the envelope goes to stdout, so the tool's prints must not
    code = 0
    try:
        _stop_on_termination(context)
        envelope = success_envelope(_perform(tools, invocation, context))
    except BaseException as problem:  # noqa: BLE001 - whatever a tool raises, its caller gets an answer
        _log_traceback(problem)
        envelope = error_envelope(problem)
        code = exit_code(problem)
    finally:
        sys.stdout = standard_output
    return _deliver(envelope, invocation, context, code)


def _perform(tools: ToolSet, invocation: Invocation, context: SandboxToolContextFacade) -> Any:
    awaiting = Awaiting()
    try:
        chosen = tools.tool_for_call(invocation.tool_name, invocation.tool_config)
        tool = chosen.tool
        _use_config_defaults(chosen, context)
        arguments = tool.build_arguments(invocation.arguments(), invocation.artifacts)
        if name := tool.ctx_facade_param_name:
            arguments[name] = context
        started: list[Any] = []
        try:
            for part in chosen.parts:
                _run_hook(part, "init", context, awaiting)
                started.append(part)
            value = call_with(
                tool._run_async_impl, args=arguments, tool_context=context, credential=context.auth_token or None
            )
            # Stored objects are written before cleanup may remove what they were made from.
            return outcome_of(awaiting.settle(value), context)
        finally:
            for part in reversed(started):
                _clean_up(part, context, awaiting)
    finally:
        awaiting.close()


def _use_config_defaults(chosen: ChosenTool, context: SandboxToolContextFacade) -> None:
    fields = chosen.tool.config_schema
    if not fields:
        return
    from .config_schema import config_declarations, with_defaults

    completed = with_defaults(context.tool_config, config_declarations(fields))
    context.tool_config.update(completed)
    for part in chosen.parts:
        if isinstance(part.tool_config, dict):
            part.tool_config = {**completed, **part.tool_config}


def _run_hook(part: Any, name: str, context: SandboxToolContextFacade, awaiting: Awaiting) -> None:
    """Run an author's `init` or `cleanup`; the empty ones of the bases and unrelated methods are passed over."""
    hook = getattr(part, name, None)
    if hook is None or getattr(hook, "__module__", "").startswith(f"{__package__}."):
        return
    offered = {"component": None, "tool_config": context.tool_config}
    if can_be_called_with(hook, **offered):
        awaiting.settle(call_with(hook, **offered))


def _clean_up(part: Any, context: SandboxToolContextFacade, awaiting: Awaiting) -> None:
    try:
        _run_hook(part, "cleanup", context, awaiting)
    except Exception as problem:  # noqa: BLE001 - the result stands, whatever cleanup does
        _log_traceback(problem)


def _deliver(envelope: str, invocation: Invocation, context: SandboxToolContextFacade, code: int) -> int:
    """Write index, pending status and envelope; a result that cannot be written becomes an error that can."""
    try:
        context.close()
    except Exception as problem:  # noqa: BLE001 - the result counts more than its sidecar
        _log_traceback(problem)
    if not invocation.result_file:
        sys.stdout.write(envelope + "\n")
        sys.stdout.flush()
        return code
    from .atomic_file import write_atomically

    try:
        write_atomically(invocation.result_file, envelope.encode("ascii"))
    except OSError as problem:
        sys.stderr.write(f"toolmesh_sdk: the result could not be written: {problem}\n")
        try:
            write_atomically(invocation.result_file, error_envelope(problem).encode("ascii"))
        except OSError:
            return 1
    return code


def _stop_on_termination(context: SandboxToolContextFacade) -> None:
    """Make SIGTERM end the tool as an exception, so that its `finally` blocks run and an envelope is written."""
    import _signal as signal  # type: ignore[import-not-found]  # the enum front of `signal` costs a millisecond

    def stop(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        context.cancelled = True
        raise ToolCancelledError("cancelled by the host")

    try:
        signal.signal(signal.SIGTERM, stop)
    except ValueError:
        return  # not the main thread: an embedding program decides about signals
    _leave_forked_children_out(signal, lambda: context.cancelled or signal.getsignal(signal.SIGTERM) is stop)


def _leave_forked_children_out(signal: ModuleType, is_ours: Callable[[], bool]) -> None:
    """Give children that the tool forks, such as a pool's, the SIGTERM that ends them: their parent waits for that.

    A handler in Python would be too late in a child that is about to wait for something, and the interpreter drops
    what comes while it forks: so the signal is held back until the child is as any other process.
    """
    term = frozenset((signal.SIGTERM,))
    held = term

    def hold_back() -> None:
        nonlocal held
        held = term - signal.pthread_sigmask(signal.SIG_BLOCK, term)  # the tool may hold it back itself

    def let_through() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, held)

    def be_a_child() -> None:
        if is_ours():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        let_through()

    register_at_fork(before=hold_back, after_in_parent=let_through, after_in_child=be_a_child)


def _configure_logging() -> None:
    """Show the log lines of tools that use logging, as the published SDK does; others need not pay for it."""
    if (logging := sys.modules.get("logging")) is not None:
        logging.basicConfig(level=logging.INFO, format="[sandbox] %(levelname)s %(name)s: %(message)s")


def _log_traceback(problem: BaseException) -> None:
    """Write the tool's own frames to stderr, for the operator's log; the model gets only the message."""
    from traceback import format_exception

    # What a call has wrong is no fault of any line.
    frame = None if isinstance(problem, InvalidArgumentsError | UnknownToolError) else problem.__traceback__
    while frame is not None and frame.tb_next is not None and _is_own(frame.tb_frame.f_code.co_filename):
        frame = frame.tb_next
    sys.stderr.write("".join(format_exception(type(problem), problem, frame)))
    sys.stderr.flush()


def _is_own(filename: str) -> bool:
    return filename.startswith(__file__.rpartition("/")[0])
