"""Language models in an executor's configuration: who provides them, and what tools may spend."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from toolmesh_contracts.config_fields import ConfigModel, Count, Text

__all__ = ["LONGEST_MODEL_ANSWER_S", "ModelProvider", "ModelsConfig", "ToolModelLimits"]

LONGEST_MODEL_ANSWER_S: Final = 110
"""Seconds that a worker waits for the answer to a question: less than the 120 after which a tool's SDK gives up, so
that the tool hears why."""


def _provider_name(name: str) -> str:
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise ValueError("a provider's name has letters, digits, `-` and `_`")
    return name


ProviderName = Annotated[str, AfterValidator(_provider_name)]
"""What stands before the first `/` of a model's name."""


class ModelProvider(ConfigModel):
    """Where models are asked."""

    dialect: Literal["openai", "anthropic"] = "openai"
    """The protocol: that of OpenAI's chat completions, which many servers speak, or Anthropic's messages."""
    base_url: Text | None = None
    """Address of an own or compatible endpoint; None: the provider's own."""
    api_key: Text | None = None
    """The key, better given as `${VARIABLE}`; only sent to this provider."""


class ToolModelLimits(ConfigModel):
    """What tools may ask of models through this executor."""

    max_prompt_characters: Count = 200_000
    """System and user prompt of one question together."""
    max_output_tokens: Count = 4096
    """Longest answer to one question."""
    calls_per_invocation: Count = 20
    """Questions of one call of a tool."""
    tokens_per_invocation: Count = 200_000
    """Tokens, in and out, after which a call of a tool may ask no more."""
    concurrency: Count = 8
    """Questions that are with providers at a time, at most a quarter of them of one call; others wait."""


class ModelsConfig(ConfigModel):
    """Language models."""

    default: Text | None = None
    """Model of agents that name none, such as `anthropic/claude-sonnet-4-5`; None: the variable TOOLMESH_MODEL."""
    providers: dict[ProviderName, ModelProvider] = Field(default_factory=dict)
    """Providers besides, or instead of, `openai` and `anthropic` with the keys in their usual variables."""
    for_tools: ToolModelLimits = ToolModelLimits()
    """Bounds of what tools ask."""
