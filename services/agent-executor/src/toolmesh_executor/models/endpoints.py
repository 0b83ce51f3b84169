"""From a model's name, such as `anthropic/claude-sonnet-4-5`, to where it is asked and with which key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from toolmesh_contracts.agent_config.agent import ModelSettings
from toolmesh_contracts.config_problems import nearest
from toolmesh_contracts.model_config import ModelProvider
from toolmesh_executor.models.errors import ModelNotConfiguredError

__all__ = ["Endpoint", "Endpoints", "name_of"]

Dialect = Literal["openai", "anthropic"]
_WELL_KNOWN: Final[Mapping[str, Dialect]] = {"openai": "openai", "anthropic": "anthropic"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model, and how to reach it.

    Attributes:
        name: As people write it, `provider/model`.
        dialect: The protocol.
        model: What the provider calls it.
        base_url: Address; None is the provider's own.
        api_key: The key; empty for a server that wants none.
        key_place: Where a person sets the key, for messages.
        base_url_place: Where a person sets the address, for messages.
        settings: Parameters of the provider, from the agent's file.
    """

    name: str
    dialect: Dialect
    model: str
    base_url: str | None
    api_key: str = field(repr=False)
    key_place: str
    base_url_place: str
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)


class Endpoints:
    """Knows the providers of one executor.

    Args:
        providers: Those of its configuration, by name.
        environment: Has the keys of well-known providers, and `<PROVIDER>_BASE_URL`.
    """

    def __init__(self, providers: Mapping[str, ModelProvider], environment: Mapping[str, str]) -> None:
        self._providers = providers
        self._environment = environment

    def of(self, wanted: str | ModelSettings) -> Endpoint:
        """Return where a model is asked.

        Raises:
            ModelNotConfiguredError: the name is no `provider/model`, the provider is unknown, or its key is missing.
        """
        name = name_of(wanted)
        provider, separator, model = name.partition("/")
        if not separator or not provider or not model:
            raise ModelNotConfiguredError(
                f"model {name!r} has no provider", hint="write provider/model, such as anthropic/claude-sonnet-4-5"
            )
        if isinstance(wanted, ModelSettings) and (wanted.api_base is not None or wanted.api_key is not None):
            return self._of_agent(wanted, name, provider, model)
        settings = dict(wanted.model_extra or {}) if isinstance(wanted, ModelSettings) else {}
        if provider in self._providers:
            return _configured(self._providers[provider], name, provider, model, settings)
        if provider in _WELL_KNOWN:
            return self._well_known(name, provider, model, settings)
        known = sorted({*self._providers, *_WELL_KNOWN})
        near = nearest(provider, known)
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)};"
        raise ModelNotConfiguredError(
            f"model {name!r} is of the unknown provider {provider!r}",
            hint=f"{hint} others are set up under `models.providers` of the executor's configuration",
        )

    def secrets(self) -> tuple[str, ...]:
        """Return every key, and the passwords in addresses, so that no log shows one."""
        configured = (provider.api_key for provider in self._providers.values())
        usual = (self._environment.get(_key_variable(name)) for name in _WELL_KNOWN)
        addresses = (self._base_url(name) for name in (*self._providers, *_WELL_KNOWN))
        passwords = (urlsplit(address).password for address in addresses if address)
        return tuple(key for key in (*configured, *usual, *passwords) if key)

    def _of_agent(self, wanted: ModelSettings, name: str, provider: str, model: str) -> Endpoint:
        """Settings of an agent's file: a key of the environment is not sent to an address that stands there."""
        dialect = self._dialect(provider)
        if wanted.api_base is None and dialect is None:
            dialect = self.of(name).dialect  # tells what is known
        return Endpoint(
            name=name,
            dialect=dialect or "openai",
            model=model,
            base_url=wanted.api_base or self._base_url(provider),
            api_key=wanted.api_key or "",
            key_place="`model.api_key` in the agent's file",
            base_url_place="`model.api_base` in the agent's file",
            settings=dict(wanted.model_extra or {}),
        )

    def _dialect(self, provider: str) -> Dialect | None:
        if provider in self._providers:
            return self._providers[provider].dialect
        return _WELL_KNOWN.get(provider)

    def _base_url(self, provider: str) -> str | None:
        if provider in self._providers:
            return self._providers[provider].base_url
        return self._environment.get(_address_variable(provider)) or None

    def _well_known(self, name: str, provider: str, model: str, settings: Mapping[str, Any]) -> Endpoint:
        variable, base_url = _key_variable(provider), self._base_url(provider)
        key = self._environment.get(variable, "")
        if not key and base_url is None:
            raise ModelNotConfiguredError(
                f"model {name!r} needs a key of {provider}", hint=f"set {variable} in the executor's environment"
            )
        return Endpoint(
            name=name,
            dialect=_WELL_KNOWN[provider],
            model=model,
            base_url=base_url,
            api_key=key,
            key_place=f"{variable} in the executor's environment",
            base_url_place=f"{_address_variable(provider)} in the executor's environment",
            settings=settings,
        )


def name_of(wanted: str | ModelSettings) -> str:
    """Return a model's name."""
    return wanted if isinstance(wanted, str) else wanted.model


def _configured(
    provider: ModelProvider, name: str, provider_name: str, model: str, settings: Mapping[str, Any]
) -> Endpoint:
    place, whose = f"`models.providers.{provider_name}", "of the executor's configuration"
    if provider.base_url is None and not provider.api_key:
        raise ModelNotConfiguredError(
            f"model {name!r} needs a key of {provider_name}", hint=f"set {place}.api_key` {whose}"
        )
    return Endpoint(
        name=name,
        dialect=provider.dialect,
        model=model,
        base_url=provider.base_url,
        api_key=provider.api_key or "",
        key_place=f"{place}.api_key` {whose}",
        base_url_place=f"{place}.base_url` {whose}",
        settings=settings,
    )


def _key_variable(provider: str) -> str:
    return f"{provider.upper()}_API_KEY"


def _address_variable(provider: str) -> str:
    return f"{provider.upper()}_BASE_URL"
