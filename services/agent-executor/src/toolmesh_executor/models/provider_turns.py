"""Turns of a conversation through the provider libraries; importing this module imports them."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from toolmesh_contracts.errors import ToolmeshError
from toolmesh_executor.models.clean_text import TextCleaner
from toolmesh_executor.models.endpoints import Endpoint
from toolmesh_executor.models.errors import ModelFailedError, ModelUnavailableError
from toolmesh_executor.models.legal_names import legal_name, legal_names
from toolmesh_executor.models.provider_errors import told, without_text
from toolmesh_executor.models.tool_schemas import tool_schema
from toolmesh_executor.models.turns import (
    AskedCall,
    Message,
    ModelSaid,
    OfferedTool,
    ToolSaid,
    TurnAnswer,
    TurnFinish,
    TurnQuestion,
    UserSaid,
)

__all__ = ["OnText", "believed_tokens", "cost_microdollars", "model_settings", "stream_turn"]

OnText: TypeAlias = Callable[[str], Awaitable[None]]
"""Is told each piece of text as it comes."""

_MOST_BYTES: Final = 384 * 1024
"""Of an answer: it is in one message of the broker twice, with what embeds in it became."""
_MOST_CALLS: Final = 64
_MOST_TOKENS: Final = 2**31
"""What a provider may claim that one question took."""
_UNDERSTOOD: Final = frozenset(ModelSettings.__annotations__)
_FINISH: Final[Mapping[str | None, TurnFinish]] = {"length": "length", "content_filter": "filtered"}


async def stream_turn(model: Model, endpoint: Endpoint, question: TurnQuestion, on_text: OnText) -> TurnAnswer:
    """Ask once, and pass text on as it comes.

    Raises:
        ModelError: there is no whole answer; `on_text` may have had some of it.
    """
    legal = legal_names(tool.name for tool in question.tools)
    parameters = ModelRequestParameters(function_tools=[_definition(tool, legal) for tool in question.tools])
    clean = TextCleaner(endpoint)
    try:
        messages = _messages(question)
        settings = model_settings(endpoint.settings)
        async with model_request_stream(
            model, messages, model_settings=settings, model_request_parameters=parameters
        ) as stream:
            async for event in stream:
                if text := clean.add(_text_of(event)):
                    await on_text(text)
        if rest := clean.finish():
            await on_text(rest)
        names = {spelling: name for name, spelling in legal.items()}
        return _answer(endpoint, _cleaned(stream.get(), clean), clean, names, question)
    except ToolmeshError:
        raise  # also what `on_text` meets: that is no fault of the model
    except Exception as error:
        raise told(endpoint, error) from error


def believed_tokens(claimed: int) -> int:
    """Return what a provider says that a question took, within reason."""
    return min(claimed, _MOST_TOKENS)


def model_settings(of_agent: Mapping[str, Any]) -> ModelSettings:
    """Return an agent's parameters; what the library does not know goes into the body."""
    known: dict[str, Any] = {key: value for key, value in of_agent.items() if key in _UNDERSTOOD}
    if further := {key: value for key, value in of_agent.items() if key not in _UNDERSTOOD}:
        known["extra_body"] = {**further, **(known.get("extra_body") or {})}
    return cast("ModelSettings", known)


def _definition(tool: OfferedTool, legal: Mapping[str, str]) -> ToolDefinition:
    # Not strict: that asks for schemas in which every argument is required, and the host checks arguments anyway.
    return ToolDefinition(
        name=legal[tool.name],
        description=tool.description,
        parameters_json_schema=tool_schema(tool.parameters),
        strict=False,
    )


def _messages(question: TurnQuestion) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    if question.system_prompt:
        parts.append(SystemPromptPart(question.system_prompt))
    for message in question.messages:
        if isinstance(message, ModelSaid):
            messages.append(ModelRequest(parts=parts))
            messages.append(_response(message))
            parts = []
        else:
            parts.append(_part(message))
    return [*messages, ModelRequest(parts=parts)]


def _part(message: Message) -> ModelRequestPart:
    match message:
        case ToolSaid():
            return ToolReturnPart(
                tool_name=legal_name(message.name),
                content=message.content,
                tool_call_id=message.model_id,
                outcome="failed" if message.failed else "success",
            )
        case UserSaid():
            return UserPromptPart(message.text)
    raise TypeError(f"no part of a request: {type(message).__name__}")


def _response(message: ModelSaid) -> ModelResponse:
    """Return an earlier answer; a name that the model made up may be none that providers take back."""
    response = cast("ModelResponse", ModelMessagesTypeAdapter.validate_json(message.response)[0])
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            part.tool_name = legal_name(part.tool_name)
    return response


def _text_of(event: object) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
    return ""


def _cleaned(response: ModelResponse, clean: TextCleaner) -> ModelResponse:
    """Clean, in place, all that the model itself has chosen."""
    for part in response.parts:
        match part:
            case TextPart() | ThinkingPart():
                part.content = clean.whole(part.content)
            case ToolCallPart():
                part.tool_name = clean.whole(part.tool_name)
                part.tool_call_id = clean.whole(part.tool_call_id)
                # Text that is no JSON is for the loop to refuse; the library would wrap it.
                part.args = clean.whole(part.args if isinstance(part.args, str) else part.args_as_json_str())
    return response


def _answer(
    endpoint: Endpoint,
    response: ModelResponse,
    clean: TextCleaner,
    names: Mapping[str, str],
    question: TurnQuestion,
) -> TurnAnswer:
    _tell_calls_apart(response)
    calls = tuple(_calls(response, names))
    if response.finish_reason is None or response.finish_reason == "error":
        raise ModelUnavailableError(f"the answer of model {endpoint.name!r} broke off", hint="try again later")
    if not response.text and not calls and not _may_be_silent(response, question):
        raise without_text(endpoint, response.finish_reason)
    # Once more: the library keeps details of the provider's beside what the model said.
    written = clean.whole(ModelMessagesTypeAdapter.dump_json([response]).decode()).encode()
    if len(written) > _MOST_BYTES or len(calls) > _MOST_CALLS:
        raise ModelFailedError(
            f"the answer of model {endpoint.name!r} has {len(written)} bytes and {len(calls)} calls of tools, at most "
            f"{_MOST_BYTES} and {_MOST_CALLS} are taken",
            hint="ask for less, or set max_tokens",
        )
    return TurnAnswer(
        text=response.text or "",
        calls=calls,
        finish="tools" if calls else _FINISH.get(response.finish_reason, "stop"),
        response=written,
        input_tokens=believed_tokens(response.usage.input_tokens),
        output_tokens=believed_tokens(response.usage.output_tokens),
        cost_microdollars=cost_microdollars(endpoint, response),
    )


def cost_microdollars(endpoint: Endpoint, response: ModelResponse) -> int | None:
    """Return what the answer costs by the provider's price list; a model behind another address has none."""
    if endpoint.base_url is not None:
        return None
    try:
        return round(response.cost().total_price * 1_000_000)
    except (AssertionError, LookupError, ValueError):
        return None


def _may_be_silent(response: ModelResponse, question: TurnQuestion) -> bool:
    """Having seen tools' results, a model may have nothing to add."""
    return response.finish_reason == "stop" and isinstance(question.messages[-1], ToolSaid)


def _tell_calls_apart(response: ModelResponse) -> None:
    """Give calls of the same id different ones: results are sent back under them."""
    taken: set[str] = set()
    for position, part in enumerate(response.parts):
        if isinstance(part, ToolCallPart):
            if part.tool_call_id in taken:
                part.tool_call_id = f"{part.tool_call_id}_{position}"
            taken.add(part.tool_call_id)


def _calls(response: ModelResponse, names: Mapping[str, str]) -> Iterator[AskedCall]:
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            name = names.get(part.tool_name, part.tool_name)
            yield AskedCall(part.tool_call_id, name, cast("str", part.args))
