"""The scripted model server itself: its streams are what the provider libraries expect."""

import pytest
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition

from toolmesh_scripted_model import Said, ScriptedModel, Turn, scripted_model

pytestmark = pytest.mark.timeout(180)  # the provider libraries take seconds to import

CALLS = [("forecast", '{"city": "Oslo", "days": 2}'), ("forecast", '{"city": "Bodø"}')]


def model_of(server: ScriptedModel, dialect: str) -> Model:
    if dialect == "anthropic":
        return AnthropicModel("small", provider=AnthropicProvider(api_key="k", base_url=server.url))
    return OpenAIChatModel("small", provider=OpenAIProvider(api_key="k", base_url=server.openai_url))


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_streamed_text_and_split_tool_calls_come_together(dialect: str) -> None:
    """Text in pieces, then two calls whose arguments are split within words, and the tokens at the end."""
    tool = ToolDefinition(name="forecast", description="Tell the weather.", parameters_json_schema={"type": "object"})
    async with scripted_model() as server:
        server.script(Turn(said=Said(text="I will look.", tool_calls=CALLS, input_tokens=21, output_tokens=9)))
        asked = [ModelRequest(parts=[UserPromptPart("How is the weather?")])]
        parameters = ModelRequestParameters(function_tools=[tool])
        pieces = 0
        model = model_of(server, dialect)
        async with model, model_request_stream(model, asked, model_request_parameters=parameters) as stream:
            async for _event in stream:
                pieces += 1
        answer = stream.get()
        (question,) = server.asked
    assert question.stream
    assert [part.content for part in answer.parts if isinstance(part, TextPart)] == ["I will look."]
    calls = [(part.tool_name, part.args_as_json_str()) for part in answer.parts if isinstance(part, ToolCallPart)]
    assert [name for name, _ in calls] == ["forecast", "forecast"]
    assert [arguments.replace(" ", "") for _, arguments in calls] == [text.replace(" ", "") for _, text in CALLS]
    assert pieces > 6
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (21, 9)
