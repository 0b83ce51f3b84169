"""What an answer costs, by the price list of the model library."""

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.usage import RequestUsage

from toolmesh_executor.models.endpoints import Endpoint, Endpoints
from toolmesh_executor.models.provider_turns import cost_microdollars


def answer(model: str) -> ModelResponse:
    usage = RequestUsage(input_tokens=1_000_000, output_tokens=100_000)
    return ModelResponse(parts=[TextPart("hi")], usage=usage, model_name=model, provider_name="openai")


@pytest.mark.parametrize(
    ("model", "address", "known"),
    [("gpt-4o", "", True), ("gpt-4o", "http://127.0.0.1:1/v1", False), ("nobody-knows-this", "", False)],
)
def test_a_price_is_known_for_the_providers_own_models_alone(model: str, address: str, known: bool) -> None:
    """A model behind another address, or in no list, has no price, which is not a price of nothing."""
    environment = {"OPENAI_API_KEY": "k", **({"OPENAI_BASE_URL": address} if address else {})}
    endpoint: Endpoint = Endpoints({}, environment).of(f"openai/{model}")
    cost = cost_microdollars(endpoint, answer(model))
    assert (cost is not None and 1_000_000 < cost < 100_000_000) if known else cost is None
