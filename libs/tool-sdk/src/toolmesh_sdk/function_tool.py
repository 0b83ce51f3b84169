"""A plain function as a tool: its annotations are the schema, its docstring is the description."""

# ruff: noqa: D102 - DynamicTool says what each property is
from __future__ import annotations

from .dynamic_tool import DynamicTool
from .errors import InvalidArgumentsError
from .options import options_of
from .parameters.base import MISSING, ValueProblemError
from .signature import read_parameters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .artifacts import ArtifactTypeInfo, DeliveredArtifacts
    from .context import SandboxToolContextFacade
    from .docstrings import Docstring
    from .signature import Parameter


class FunctionTool(DynamicTool):
    """A function, sync or async, with the context and tool_config wherever it asks for them.

    Args:
        function: The function, a partial, or a callable object.
        tool_config: What the operator set.
        owner: The provider that registered it; passed where the function takes `self`.
    """

    def __init__(self, function: Callable[..., Any], tool_config: dict[str, Any] | None = None, owner: Any = None):
        super().__init__(tool_config)
        self.function = function
        self.owner = owner
        self._parameters: list[Parameter] | None = None
        self._docstring: Docstring | None = None

    @property
    def parameters(self) -> list[Parameter]:
        """The function's parameters in order."""
        if self._parameters is None:
            self._parameters = read_parameters(self.function)
        return self._parameters

    @property
    def tool_name(self) -> str:
        named = self.function
        while not hasattr(named, "__name__") and hasattr(named, "func"):
            named = named.func
        return getattr(named, "__name__", type(named).__name__)

    @property
    def docstring(self) -> Docstring:
        """The parts of the function's docstring."""
        if self._docstring is None:
            from .docstrings import parse_docstring

            self._docstring = parse_docstring(_docstring_of(self.function))
        return self._docstring

    @property
    def tool_description(self) -> str:
        return self.docstring.description

    @property
    def instructions(self) -> str:
        return str(self._option("instructions", self.docstring.instructions))

    @property
    def parameters_schema(self) -> dict[str, Any]:
        from .function_schema import function_schema

        return function_schema(self.parameters, self.docstring.parameters)

    @property
    def output_schema(self) -> dict[str, Any] | None:
        from .function_schema import returned_schema

        return returned_schema(self.function)

    @property
    def artifact_params(self) -> dict[str, ArtifactTypeInfo]:
        from .artifacts import artifact_info

        infos = {entry.name: artifact_info(entry.kind()) for entry in self.parameters if entry.role == "argument"}
        return {name: info for name, info in infos.items() if info.is_artifact}

    @property
    def artifact_args(self) -> list[str]:
        return list(self.artifact_params)

    @property
    def auth_config(self) -> dict[str, Any] | None:
        return self._option("auth") or getattr(self.owner, "auth_config", None)

    @property
    def config_schema(self) -> Any:
        return self._option("config_schema") or getattr(self.owner, "config_schema", None)

    def dynamic_schema(self, config: dict[str, Any]) -> Any:
        override = self._option("dynamic_schema") or getattr(self.owner, "dynamic_schema", None)
        return override(config) if override else None

    def build_arguments(self, arguments: dict[str, Any], files: DeliveredArtifacts) -> dict[str, Any]:
        problems: list[str] = []
        built: dict[str, Any] = {}
        rest = dict(arguments)
        extra: Parameter | None = None
        for parameter in self.parameters:
            if parameter.role == "kwargs":
                extra = parameter
            elif parameter.role == "argument":
                value = rest.pop(parameter.name, MISSING)
                _build_one(parameter, value, files, built, problems)
        if rest and extra is None:
            known = ", ".join(entry.name for entry in self.parameters if entry.role == "argument") or "no arguments"
            problems += [f"{name} is unknown (it takes {known})" for name in rest]
        for name, value in rest.items() if extra else ():
            try:
                built[name] = extra.kind().build(value, name, files) if extra else value
            except ValueProblemError as problem:
                problems.append(str(problem))
        if problems:
            raise InvalidArgumentsError(self.tool_name, problems)
        return built

    def _run_async_impl(
        self, args: dict[str, Any], tool_context: SandboxToolContextFacade | None = None, credential: str | None = None
    ) -> Any:
        positional: list[Any] = []
        keywords = dict(args)
        for parameter in self.parameters:
            injected = self._injected(parameter, tool_context)
            if injected is not MISSING:
                keywords[parameter.name] = injected
            if parameter.place == "positional" or parameter.role == "self":
                positional.append(keywords.pop(parameter.name, parameter.fallback()))
        return self.function(*positional, **keywords)

    def _injected(self, parameter: Parameter, context: SandboxToolContextFacade | None) -> Any:
        role = parameter.role
        if role == "self":
            return self.owner
        if role == "config":
            return self._typed_config(parameter)
        if role == "context":
            return context
        if role == "legacy_context" and context is not None:
            from .legacy_context import LegacyContext

            return LegacyContext(context)
        return MISSING

    def _typed_config(self, parameter: Parameter) -> Any:
        """Return tool_config, as the class that the parameter's annotation names if it names one."""
        if parameter.annotation is MISSING or parameter.kind().name not in ("record", "pydantic"):
            return self.tool_config
        from .artifacts import DeliveredArtifacts

        config = {key: value for key, value in self.tool_config.items() if not key.startswith("_")}
        return parameter.kind().build(config, "tool_config", DeliveredArtifacts({}, {}))

    def _option(self, key: str, default: Any = None) -> Any:
        return options_of(self.function).get(key, default)


def _build_one(
    parameter: Parameter, value: Any, files: DeliveredArtifacts, built: dict[str, Any], problems: list[str]
) -> None:
    # Models send null for "nothing": it means the default where null is no value of the parameter.
    if value is MISSING or (value is None and not parameter.takes_null()):
        if parameter.required:
            problems.append(f"{parameter.name} is missing")
        elif parameter.default is MISSING:
            built[parameter.name] = None
        return
    try:
        built[parameter.name] = parameter.kind().build(value, parameter.name, files)
    except ValueProblemError as problem:
        problems.append(str(problem))


def _docstring_of(function: Any) -> str | None:
    while hasattr(function, "func") and not hasattr(function, "__code__"):
        function = function.func
    if hasattr(function, "__code__") or hasattr(function, "__func__") or hasattr(function, "__wrapped__"):
        text: str | None = function.__doc__
        return text
    return type(function).__call__.__doc__ or type(function).__doc__
