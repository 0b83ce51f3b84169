"""The command line of a tool executable: `--schema [--config FILE]`, or the arguments file of one call."""

from __future__ import annotations

import sys

from .errors import RunnerArgsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .dynamic_tool import DynamicTool
    from .provider import DynamicToolProvider
    from .tool_sets import ToolSet


def tool_cli(func: Callable[..., Any]) -> Callable[[], None]:
    """Return the `main` of an executable with one function tool.

    Args:
        func: Sync or async; its annotations become the schema, its docstring the description.
    """

    def function_set() -> ToolSet:
        from .function_tool import FunctionTool
        from .tool_sets import SingleTool

        return SingleTool(lambda config: FunctionTool(func, config))

    return _main(function_set)


def dynamic_tool_cli(tool_class: type[DynamicTool]) -> Callable[[], None]:
    """Return the `main` of an executable with one class tool.

    Args:
        tool_class: The class itself, not an instance.
    """

    def class_set() -> ToolSet:
        from .calling import construct
        from .tool_sets import SingleTool

        return SingleTool(lambda config: construct(tool_class, config))

    return _main(class_set)


def provider_cli(provider_class: type[DynamicToolProvider]) -> Callable[[], None]:
    """Return the `main` of an executable with several tools; the call's `tool_name` picks one.

    Args:
        provider_class: The class itself, not an instance.
    """

    def provider_set() -> ToolSet:
        from .tool_sets import ProviderTools

        return ProviderTools(provider_class)

    return _main(provider_set)


def _main(tool_set: Callable[[], ToolSet]) -> Callable[[], None]:
    def main() -> None:
        code = run_command(tool_set(), sys.argv[1:])
        if code:
            sys.exit(code)

    return main


def run_command(tools: ToolSet, arguments: list[str]) -> int:
    """Do what the command line asks and return the exit code."""
    files, config_file = _parsed(arguments)
    if "--schema" in arguments:
        return _print_schema(tools, config_file)
    if not files:
        sys.stderr.write("usage: TOOL ARGUMENTS_FILE | TOOL --schema [--config FILE]\n")
        return 1
    from .call import run_call

    try:
        return run_call(tools, files[0])
    except RunnerArgsError as problem:
        sys.stderr.write(f"toolmesh_sdk: {problem}\n")
        return 1


def _parsed(arguments: list[str]) -> tuple[list[str], str | None]:
    """Return the files named, and the one behind `--config`; flags stand in any order."""
    files: list[str] = []
    config_file = None
    rest = iter(arguments)
    for argument in rest:
        if argument == "--config":
            config_file = next(rest, None)
        elif argument.startswith("--config="):
            config_file = argument.removeprefix("--config=")
        elif argument != "--schema":
            files.append(argument)
    return files, config_file


def _print_schema(tools: ToolSet, config_file: str | None) -> int:
    from json import dumps

    from .describe import describe
    from .invocation import read_json_object

    standard_output, sys.stdout = sys.stdout, sys.stderr  # prints of create_tools must not end up in the schema
    try:
        config = None if config_file is None else read_json_object(config_file)
        text = dumps(describe(tools, config), indent=2, allow_nan=False)
    except RunnerArgsError as problem:
        sys.stderr.write(f"toolmesh_sdk: {problem}\n")
        return 1
    except Exception as problem:  # noqa: BLE001 - an author's property may fail in any way
        if (place := getattr(problem, "place", None)) is not None:
            sys.stderr.write(f'  File "{place[0]}", line {place[1]}\n')  # as in a traceback: hosts look for that
        sys.stderr.write(f"Schema discovery failed: {type(problem).__name__}: {problem}\n")
        return 1
    finally:
        sys.stdout = standard_output
    sys.stdout.write(text + "\n")
    return 0
