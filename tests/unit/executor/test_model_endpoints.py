"""From a model's name to its address and key, and what is said of a name that leads nowhere."""

import subprocess
import sys

import pytest

from toolmesh_contracts.agent_config.agent import ModelSettings
from toolmesh_contracts.model_config import ModelProvider
from toolmesh_executor.models.endpoints import Endpoints
from toolmesh_executor.models.errors import ModelNotConfiguredError

KEYS = {"OPENAI_API_KEY": "sk-openai", "ANTHROPIC_API_KEY": "sk-anthropic"}
HOUSE = ModelProvider(base_url="http://house.example/v1", api_key="sk-house")


@pytest.mark.parametrize(
    ("name", "dialect", "model", "base_url", "key"),
    [
        ("openai/gpt-5", "openai", "gpt-5", None, "sk-openai"),
        ("anthropic/claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5", None, "sk-anthropic"),
        ("house/org/llama", "openai", "org/llama", "http://house.example/v1", "sk-house"),
    ],
)
@pytest.mark.requirement("models:dialects")
def test_name_leads_to_address_and_key(name: str, dialect: str, model: str, base_url: str | None, key: str) -> None:
    """Well-known providers have their key in its usual variable, others in the configuration."""
    found = Endpoints({"house": HOUSE}, KEYS).of(name)
    assert (found.dialect, found.model, found.base_url, found.api_key) == (dialect, model, base_url, key)
    assert key not in repr(found)


def test_configured_provider_stands_before_the_well_known_one() -> None:
    """An operator who sets `openai` up by hand gets that, and not what the environment says."""
    found = Endpoints({"openai": HOUSE}, KEYS | {"OPENAI_BASE_URL": "http://else.example"}).of("openai/x")
    assert (found.base_url, found.api_key) == ("http://house.example/v1", "sk-house")


@pytest.mark.requirement("models:keys")
def test_key_of_the_environment_is_not_sent_to_an_address_in_an_agents_file() -> None:
    """Whoever may write an agent's file could otherwise have the key sent anywhere."""
    settings = ModelSettings.model_validate({"model": "openai/x", "api_base": "http://new.example", "top_k": 3})
    found = Endpoints({}, KEYS).of(settings)
    assert (found.base_url, found.api_key, found.settings) == ("http://new.example", "", {"top_k": 3})
    own = Endpoints({}, KEYS).of(ModelSettings.model_validate({"model": "anthropic/x", "api_key": "sk-own"}))
    assert (own.dialect, own.base_url, own.api_key) == ("anthropic", None, "sk-own")


def test_unknown_provider_with_an_address_speaks_the_common_dialect() -> None:
    """Such as `ollama/llama3`; without an address its name says nothing."""
    settings = {"model": "ollama/llama3", "api_key": "k"}
    found = Endpoints({}, {}).of(ModelSettings.model_validate(settings | {"api_base": "http://localhost:11434/v1"}))
    assert (found.dialect, found.model) == ("openai", "llama3")
    with pytest.raises(ModelNotConfiguredError, match="unknown provider 'ollama'"):
        Endpoints({}, {}).of(ModelSettings.model_validate(settings))


@pytest.mark.parametrize(
    ("name", "says", "hint"),
    [
        ("gpt-5", "has no provider", "anthropic/claude-sonnet-4-5"),
        ("openai/", "has no provider", "provider/model"),
        ("antropic/x", "unknown provider 'antropic'", "did you mean 'anthropic'?"),
        ("zzz/x", "unknown provider 'zzz'", "known: anthropic, bare, openai; others are set up under"),
        ("openai/x", "needs a key of openai", "set OPENAI_API_KEY in the executor's environment"),
        ("bare/x", "needs a key of bare", "set `models.providers.bare.api_key`"),
    ],
)
@pytest.mark.requirement("models:errors")
def test_name_that_leads_nowhere_is_told_with_a_cure(name: str, says: str, hint: str) -> None:
    """The nearest spelling, the variable, or the key of the configuration."""
    with pytest.raises(ModelNotConfiguredError) as caught:
        Endpoints({"bare": ModelProvider()}, {}).of(name)
    assert says in caught.value.message
    assert hint in caught.value.hint


def test_all_keys_are_known_to_who_hides_them() -> None:
    """Those of the configuration and those of the environment, also as passwords in addresses."""
    environment = KEYS | {"OPENAI_BASE_URL": "http://ada:sk-pass@else.example/v1"}
    found = set(Endpoints({"house": HOUSE}, environment).secrets())
    assert found == {"sk-house", "sk-openai", "sk-anthropic", "sk-pass"}


def test_no_provider_library_is_loaded_at_the_start() -> None:
    """They take seconds: whoever asks no model does not wait for them."""
    code = (
        "import sys, toolmesh_executor.app, toolmesh_executor.agent_dispatcher; "
        "print([name for name in ('pydantic_ai', 'openai', 'anthropic', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
