"""Repairs how a really installed `sam_tool_sdk` calls tools, in memory: no file of tool or package is touched.

The package fills only parameters that its own simple look at annotations recognises. Here functions are handed to it
behind an adapter with a signature that it understands: annotations resolved, `X | None` as `Optional[X]`, one context
parameter, no `tool_config`. The adapter fills all context parameters and `tool_config`, and awaits what it gets back.
Tools that work keep working as they did.
"""

# os.path and open instead of pathlib, as everywhere in what a tool's process loads.
# ruff: noqa: PTH103, PTH118, PTH120, PTH122, PTH123
from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import types
import typing
from importlib.machinery import SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_CONTEXT = "toolmesh_injected_context"
_CONTEXT_NAMES = ("ctx", "context", "tool_context")
_CONTEXT_TYPES = ("ToolContextFacade", "SandboxToolContextFacade", "ToolContext")
_EMPTY = inspect.Parameter.empty
_INDEX = ".toolmesh-artifacts.json"


def repair_package(package: Any) -> None:
    """Change the entry points of a loaded `sam_tool_sdk`; one that is built otherwise stays as it is.

    Args:
        package: The package's module.
    """
    cli: Any = getattr(package, "cli", None)
    tools: Any = getattr(package, "dynamic_tool", None)
    if not (_has(cli, "tool_cli") and _has(tools, "_FunctionAsDynamicTool", "DynamicTool", "DynamicToolProvider")):
        return
    plain_tool_cli = cli.tool_cli

    @functools.wraps(plain_tool_cli)
    def tool_cli(func: Callable[..., Any]) -> Callable[[], None]:
        return plain_tool_cli(_adapted_function(func, package))  # type: ignore[no-any-return]

    cli.tool_cli = package.tool_cli = tool_cli
    _repair_outputs(importlib.import_module(f"{package.__name__}.tool_runner"))
    _repair_registered_functions(tools, package)
    _repair_tool_classes(tools.DynamicTool)
    _repair_providers(tools.DynamicToolProvider)
    _repair_model_client(importlib.import_module(f"{package.__name__}.ipc"))


def _has(module: Any, *names: str) -> bool:
    return all(hasattr(module, name) for name in names)


def _repair_outputs(runner: Any) -> None:
    """Keep what a bare file can't say (type, description, metadata) in the index that the worker reads.

    Names get their folders and stay apart; an object whose name leaves the folder stays in the result, where the worker
    refuses it by name and the rest of the call's work is kept.
    """
    plain = runner._extract_output_artifacts

    @functools.wraps(plain)
    def extract(result: Any, output_dir: str) -> Any:
        objects = list(getattr(result, "data_objects", None) or [])
        if not objects:
            return plain(result, output_dir)
        unsafe = [entry for entry in objects if not _is_safe(getattr(entry, "name", ""))]
        taken: set[str] = set()
        for entry in objects:
            if entry not in unsafe:
                entry.name = _free_name(os.path.normpath(entry.name), taken)
                os.makedirs(os.path.dirname(os.path.join(output_dir, entry.name)), exist_ok=True)
        result.data_objects = [entry for entry in objects if entry not in unsafe]
        result = plain(result, output_dir)
        kept = list(result.data_objects)
        _write_index(output_dir, [entry for entry in objects if entry not in unsafe and entry not in kept])
        result.data_objects = kept + unsafe
        return result

    runner._extract_output_artifacts = extract


def _is_safe(name: Any) -> bool:
    if not isinstance(name, str) or not name.strip() or name.endswith("/") or "\0" in name:
        return False
    return not name.startswith(("/", "\\")) and ".." not in name and os.path.normpath(name) != _INDEX


def _free_name(name: str, taken: set[str]) -> str:
    stem, ending = os.path.splitext(name)
    number, free = 2, name
    while free in taken:
        free, number = f"{stem}-{number}{ending}", number + 1
    taken.add(free)
    return free


def _write_index(folder: str, objects: list[Any]) -> None:
    index = {}
    for entry in objects:
        details = {key: getattr(entry, key, None) for key in ("mime_type", "description", "preview", "metadata")}
        disposition = getattr(entry, "disposition", None)
        details["disposition"] = getattr(disposition, "value", disposition)
        index[entry.name] = {key: value for key, value in details.items() if value is not None}
    if index:
        with open(os.path.join(folder, _INDEX), "w", encoding="ascii") as file:
            json.dump(index, file, default=str)


def _repair_registered_functions(tools: Any, package: Any) -> None:
    plain = tools._FunctionAsDynamicTool.__init__

    @functools.wraps(plain)
    def initialise(self: Any, func: Callable[..., Any], *args: Any, **keywords: Any) -> None:
        plain(self, _adapted_method(func, package), *args, **keywords)

    tools._FunctionAsDynamicTool.__init__ = initialise


def _repair_tool_classes(base: Any) -> None:
    """Let `_run_async_impl` of later subclasses be synchronous."""

    def made(cls: Any, /, **options: Any) -> None:
        super(base, cls).__init_subclass__(**options)
        body = cls.__dict__.get("_run_async_impl")
        if isinstance(body, types.FunctionType) and not inspect.iscoroutinefunction(body):

            @functools.wraps(body)
            async def run(self: Any, *args: Any, **keywords: Any) -> Any:
                return await _awaited(body(self, *args, **keywords))

            cls._run_async_impl = run

    base.__init_subclass__ = classmethod(made)


def _repair_providers(base: Any) -> None:
    """Give providers `tool_config`, and take None of `create_tools` for an empty list."""
    if not hasattr(base, "tool_config"):
        base.tool_config = _ProviderConfig()
    plain = base.get_all_tools_for_framework

    @functools.wraps(plain)
    def all_tools(self: Any, tool_config: Any = None) -> Any:
        create = self.create_tools
        self.create_tools = lambda config=None: create(config) or []
        try:
            return plain(self, tool_config)
        finally:
            del self.create_tools

    base.get_all_tools_for_framework = all_tools


def _repair_model_client(ipc: Any) -> None:
    """Let the client connect through a descriptor, and give a forked process a connection of its own."""
    plain = ipc.IPCClient._ensure_connected

    @functools.wraps(plain)
    def ensure_connected(self: Any) -> Any:
        if not self._socket_path.startswith("fd:"):
            return plain(self)
        if self._conn is None or self.__dict__.get("_connected_in") != os.getpid():
            try:
                self._conn = _open_connection(self._socket_path)
            except OSError as problem:
                raise ipc.IPCError(f"connecting to the host: {problem}") from problem
            self._reader_buf, self._connected_in = b"", os.getpid()
        return self._conn

    ipc.IPCClient._ensure_connected = ensure_connected


def _open_connection(address: str) -> Any:
    # By its path: the toolset may have brought along another release of our SDK too.
    name = "toolmesh_model_descriptor"
    module: Any = types.ModuleType(name)
    SourceFileLoader(name, os.path.join(os.path.dirname(__file__), "model_descriptor.py")).exec_module(module)
    return module.open_connection(address)


class _ProviderConfig:
    """Reads what the package keeps in `_tool_config`; a provider's own attribute of this name wins."""

    def __get__(self, provider: Any, _owner: Any = None) -> Any:
        return self if provider is None else provider.__dict__.get("_tool_config") or {}


class _Roles:
    """The parts of a function's parameters."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.parameters = list(inspect.signature(function).parameters.values())
        self.hints = _hints(function)
        self.context: list[str] = []
        self.legacy: list[str] = []
        self.config: list[str] = []
        for entry in self.parameters:
            if entry.name == "tool_config":
                self.config.append(entry.name)
            elif _is_context(self.hints.get(entry.name, entry.annotation)):
                self.context.append(entry.name)
            elif entry.annotation is _EMPTY and entry.name in _CONTEXT_NAMES:
                # `def f(ctx, x)` is the old form; with a default it is the README's.
                (self.context if entry.default is None else self.legacy).append(entry.name)

    @property
    def injected(self) -> set[str]:
        """Parameters that the model does not fill."""
        return {*self.context, *self.legacy, *self.config}

    def sent(self) -> list[inspect.Parameter]:
        """Return what the model fills, as parameters that the package can read."""
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        sent = [entry for entry in self.parameters if entry.name not in self.injected and entry.kind not in kinds]
        return [self._readable(entry) for entry in sent]

    def _readable(self, entry: inspect.Parameter) -> inspect.Parameter:
        annotation = _as_optional(self.hints.get(entry.name, entry.annotation))
        default = entry.default
        if default is _EMPTY and type(None) in typing.get_args(annotation):
            default = None
        return entry.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)

    def call(self, function: Callable[..., Any], sent: Mapping[str, Any], injected: Mapping[str, Any]) -> Any:
        """Call the function with what was sent and what it gets besides."""
        values = dict(sent) | {name: injected[name] for name in self.injected}
        for entry in self.sent():
            if entry.default is None:
                values.setdefault(entry.name, None)
        for name, value in values.items():
            if isinstance(value, list) and _is_tuple(self.hints.get(name)):
                values[name] = tuple(value)
        positional = []
        for entry in self.parameters:
            if entry.kind is inspect.Parameter.POSITIONAL_ONLY:
                if entry.name not in values:
                    break
                positional.append(values.pop(entry.name))
        return function(*positional, **values)


def _adapted_function(function: Callable[..., Any], package: Any) -> Callable[..., Any]:
    """Return a function of the same name and meaning, for the package's `tool_cli`."""
    try:
        roles = _Roles(function)
    except (TypeError, ValueError):  # a builtin has no signature
        return function

    def adapter(**given: Any) -> Any:
        context = given.pop(_CONTEXT)
        legacy = package.tool_runner._LegacyContextWrapper
        injected = dict.fromkeys(roles.context, context)
        injected |= {name: legacy(context) for name in roles.legacy}
        injected |= dict.fromkeys(roles.config, context._tool_config)
        value = roles.call(function, given, injected)
        if inspect.isawaitable(value):
            import asyncio

            return asyncio.run(_awaited(value))
        return value

    facade = package.context_facade.SandboxToolContextFacade
    context = inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=facade)
    _disguise(adapter, function, [*roles.sent(), context])
    return adapter


def _adapted_method(function: Callable[..., Any], package: Any) -> Callable[..., Any]:
    """Return an async function for a provider, which itself passes `self`, `tool_context` and `tool_config`."""
    try:
        roles = _Roles(function)
    except (TypeError, ValueError):
        return function
    filled = [name for name in (*roles.context, *roles.legacy) if name != "tool_context"]
    wants_self = bool(roles.parameters) and roles.parameters[0].name == "self"

    async def adapter(*args: Any, **given: Any) -> Any:
        context = given.pop(_CONTEXT, None)
        injected = dict.fromkeys(filled, context)
        injected |= {name: given.pop(name, None) for name in roles.injected if name not in filled}
        own = {"self": args[0]} if wants_self and args else {}
        return await _awaited(roles.call(function, given | own, injected))

    keyword = inspect.Parameter.KEYWORD_ONLY
    shown = [entry for entry in roles.sent() if entry.name != "self"]
    shown += [inspect.Parameter(name, keyword) for name in sorted(roles.injected - set(filled))]
    if filled:
        facade = package.context_facade.SandboxToolContextFacade
        shown.append(inspect.Parameter(_CONTEXT, keyword, annotation=facade))
    if wants_self:
        shown.insert(0, inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD))
    _disguise(adapter, function, shown)
    return adapter


def _disguise(adapter: Any, function: Any, parameters: list[inspect.Parameter]) -> None:
    named = function
    while not hasattr(named, "__name__") and hasattr(named, "func"):  # functools.partial
        named = named.func
    adapter.__dict__.update(getattr(function, "__dict__", {}))
    adapter.__name__ = getattr(named, "__name__", type(named).__name__)
    adapter.__doc__ = _one_line_first(named.__doc__)
    adapter.__signature__ = inspect.Signature(parameters)


def _one_line_first(docstring: str | None) -> str | None:
    """Join a docstring's first paragraph: the package takes the first line for all of it."""
    if not docstring:
        return docstring
    first, separator, rest = inspect.cleandoc(docstring).partition("\n\n")
    return " ".join(first.split()) + separator + rest


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations with text resolved, as far as it can be."""
    inner: Any = function
    while hasattr(inner, "func") and not hasattr(inner, "__code__"):
        inner = inner.func
    if not hasattr(inner, "__code__") and not isinstance(inner, type):
        inner = getattr(inner, "__call__", inner)  # noqa: B004 - the method itself, whose annotations are wanted
    try:
        return typing.get_type_hints(inspect.unwrap(inner), include_extras=True)
    except Exception:  # noqa: BLE001 - an annotation may be any expression; unresolved ones stay as they are
        return {}


def _is_context(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return "ToolContext" in annotation
    if typing.get_origin(annotation) is typing.Annotated:
        return _is_context(typing.get_args(annotation)[0])
    if _is_union(annotation):
        return any(_is_context(member) for member in typing.get_args(annotation))
    return getattr(annotation, "__name__", "") in _CONTEXT_TYPES


def _as_optional(annotation: Any) -> Any:
    """Return `X | Y` in the older form, without `Annotated`, and files as a plain list: all that the package knows."""
    origin, members = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _as_optional(members[0])
    if _is_union(annotation):
        return typing.Union[tuple(_as_optional(member) for member in members)]  # noqa: UP007
    if origin in (list, tuple) and (kinds := {_file_of(part) for part in members if part is not Ellipsis}) != {None}:
        return list[kinds.pop()] if len(kinds) == 1 else annotation  # type: ignore[misc]
    return annotation


def _file_of(annotation: Any) -> Any:
    """Return the package's class of files, of an annotation that is it or allows null besides; else None."""
    parts = typing.get_args(annotation) if _is_union(annotation) else (annotation,)
    return next((part for part in parts if getattr(part, "__name__", "") == "Artifact"), None)


def _is_tuple(annotation: Any) -> bool:
    """Whether files that the package loads into a list were to be a tuple."""
    if _is_union(annotation) or typing.get_origin(annotation) is typing.Annotated:
        return any(_is_tuple(member) for member in typing.get_args(annotation))
    return typing.get_origin(annotation) is tuple and None not in map(_file_of, typing.get_args(annotation)[:1])


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


async def _awaited(value: Any) -> Any:
    while inspect.isawaitable(value):
        value = await value
    return value
