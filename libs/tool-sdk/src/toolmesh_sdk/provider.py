"""`DynamicToolProvider`: several related tools in one executable."""

from __future__ import annotations

from abc import ABC, ABCMeta, abstractmethod

from .options import options_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from .dynamic_tool import DynamicTool

    Registered = TypeVar("Registered", bound=Callable[..., Any])

_MARK = "_toolmesh_registered"


def register_tool(function: Registered) -> Registered:
    """Register a function as a tool: a method in a provider's body, or, outside of one, a tool of every provider."""
    if _is_in_class_body(function):
        setattr(function, _MARK, True)
    else:
        DynamicToolProvider.register_tool(function)
    return function


def _is_in_class_body(function: Callable[..., Any]) -> bool:
    outer = function.__qualname__.rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


class _BodyRegistrar:
    """Stands for a provider's name inside its own body, where `@Name.register_tool` is written before Name exists."""

    register_tool = staticmethod(register_tool)


class _ProviderMeta(ABCMeta):
    @classmethod
    def __prepare__(mcs, name: str, bases: tuple[type, ...], /, **_options: Any) -> dict[str, Any]:  # noqa: N804
        return {name: _BodyRegistrar}

    def __new__(
        mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], /, **options: Any
    ) -> type[DynamicToolProvider]:
        if body.get(name) is _BodyRegistrar:
            del body[name]
        made: Any = super().__new__(mcs, name, bases, body, **options)
        made._registered = [entry for entry in body.values() if getattr(entry, _MARK, False)]
        return made  # type: ignore[no-any-return]


class DynamicToolProvider(ABC, metaclass=_ProviderMeta):
    """Base of providers: tools are registered functions, and what `create_tools` returns."""

    config_model: type | None = None
    _registered: list[Callable[..., Any]]
    _tool_config: dict[str, Any] | None = None

    @property
    def tool_config(self) -> Any:
        """What the operator set for the tool being called."""
        return self._tool_config or {}

    @tool_config.setter
    def tool_config(self, value: Any) -> None:
        self._tool_config = value

    async def init(self, component: object = None, tool_config: dict[str, Any] | None = None) -> None:
        """Prepare before a call; may be synchronous in a subclass."""

    async def cleanup(self, component: object = None, tool_config: dict[str, Any] | None = None) -> None:
        """Put away after a call, also after a failed one; may be synchronous in a subclass."""

    @property
    def auth_config(self) -> dict[str, Any] | None:
        """The sign-in that every tool needs, or None."""
        return options_of(type(self)).get("auth")

    @property
    def config_schema(self) -> Any:
        """What an operator may set for every tool, or None."""
        return options_of(type(self)).get("config_schema")

    def dynamic_schema(self, config: dict[str, Any]) -> Any:
        """Return what a tool_config changes in every tool's schema, or None."""
        override = options_of(type(self)).get("dynamic_schema")
        return override(config) if override else None

    @classmethod
    def register_tool(cls, func: Registered) -> Registered:
        """Register a function, sync or async, as a tool of this provider and of its subclasses only."""
        cls._registered.append(func)
        return func

    @classmethod
    def registered_functions(cls) -> list[Callable[..., Any]]:
        """Return the registered functions, a parent's first; one of the same name replaces the parent's."""
        found: dict[str, list[Callable[..., Any]]] = {}
        for kind in reversed(cls.__mro__):
            own: dict[str, list[Callable[..., Any]]] = {}
            for function in kind.__dict__.get("_registered", ()):
                own.setdefault(function.__name__, []).append(function)
            found.update(own)
        return [function for functions in found.values() for function in functions]

    def get_all_tools_for_framework(self, tool_config: dict[str, Any] | None = None) -> list[DynamicTool]:
        """Return every tool of this provider."""
        from .tool_sets import tools_of_provider

        return tools_of_provider(self, tool_config or {})

    @abstractmethod
    def create_tools(self, tool_config: dict[str, Any] | None = None) -> Any:
        """Return further tools beside the registered functions; an empty list when there are none."""
