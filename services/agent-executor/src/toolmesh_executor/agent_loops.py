"""What an agent's loop needs for one task: its tools for the caller, its model, its settings."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolmesh_broker.jetstream.broker import JetStreamBroker
from toolmesh_contracts.agent_config.agent import AgentConfig
from toolmesh_contracts.envelopes.catalog import AgentSummary
from toolmesh_executor.dispatch import Dispatcher
from toolmesh_executor.embeds.early import EarlyEmbeds
from toolmesh_executor.json_schema import compiled
from toolmesh_executor.loop.builtin_toolbox import BuiltinToolbox
from toolmesh_executor.loop.decisions import LoopLimits
from toolmesh_executor.loop.embedding_toolbox import EmbeddingToolbox, raw_arguments_of
from toolmesh_executor.loop.joined_toolbox import JoinedToolbox
from toolmesh_executor.loop.records import TaskFailed
from toolmesh_executor.loop.remote_toolbox import RemoteToolbox
from toolmesh_executor.loop.runner import LoopSettings
from toolmesh_executor.loop.toolbox import Toolbox
from toolmesh_executor.models.choice import ModelChoice
from toolmesh_executor.models.client import ModelClient
from toolmesh_executor.models.endpoints import Endpoint, Endpoints
from toolmesh_executor.models.turns import TurnAnswer, TurnQuestion
from toolmesh_executor.tasks.cancelling import end_task
from toolmesh_executor.tasks.peers import PeerTask, PeerToolbox
from toolmesh_executor.tasks.sending import TaskSender

__all__ = ["AgentLoop", "AgentLoops"]

OnAnswered: TypeAlias = Callable[[str, str, TurnAnswer], None]

_TURN_BUDGET_S: Final = 180.0
"""For all attempts to get one turn of the model."""


@dataclass(frozen=True, slots=True)
class AgentLoop:
    """One agent for one task.

    Attributes:
        agent: Its name.
        toolbox: What it can do for the caller.
        settings: What its file says.
    """

    agent: str
    toolbox: Toolbox
    settings: LoopSettings
    _endpoint: Endpoint
    _models: ModelClient
    _on_answered: OnAnswered

    async def ask(
        self,
        question: TurnQuestion,
        on_text: Callable[[str], Awaitable[None]],
        on_again: Callable[[str], Awaitable[None]],
    ) -> TurnAnswer:
        """Ask the agent's model; see `AskTurn`."""
        answer = await self._models.turn(self._endpoint, question, _TURN_BUDGET_S, on_text, on_again)
        self._on_answered(self.agent, self._endpoint.name, answer)
        return answer


@dataclass(frozen=True, slots=True)
class AgentLoops:
    """Makes the loops of one executor's agents.

    Attributes:
        configs: The agents' files, by agent.
        choice: Which model each has.
        endpoints: Where the models are.
        models: Asks them.
        dispatcher: Calls the agents' tools.
        mesh: The agents of the whole mesh.
        broker: Where peers are asked.
        on_answered: Is told the agent, the model and each turn.
    """

    configs: Mapping[str, AgentConfig]
    choice: ModelChoice
    endpoints: Endpoints
    models: ModelClient
    dispatcher: Dispatcher
    mesh: Mapping[str, AgentSummary]
    broker: JetStreamBroker
    on_answered: OnAnswered

    def of(self, task: PeerTask) -> AgentLoop:
        """Return the loop for a task of one of the agents.

        Raises:
            ModelNotConfiguredError: its model can't be asked.
            DispatchError: this caller may not call the agent.
            ToolmeshError: a schema of its file can't be used.
        """
        self.dispatcher.scopes(task.agent, task.token)
        config = self.configs[task.agent]
        endpoint = self.endpoints.of(self.choice.choose(task.agent, ""))
        remote = RemoteToolbox(
            dispatcher=self.dispatcher,
            agent=task.agent,
            token=task.token,
            task=task.id,
            max_bytes=config.tool_output_llm_return_max_bytes,
            shape_depth=config.schema_inference_depth,
            deadline_ms=task.deadline_ms,
        )
        local = BuiltinToolbox(dispatcher=self.dispatcher, agent=task.agent, token=task.token)
        toolbox: Toolbox = JoinedToolbox((remote, local, self._peers(config, task)))
        embeds = EarlyEmbeds() if config.enable_embed_resolution else None
        if embeds is not None:
            raw = raw_arguments_of(self.dispatcher, task.agent, task.token)
            toolbox = EmbeddingToolbox(toolbox, embeds, raw)
        summaries = config.auto_summarization
        limits = LoopLimits(max_turns=config.max_llm_calls_per_task, continues=config.enable_auto_continuation)
        settings = LoopSettings(
            model=endpoint.name,
            instruction=config.instruction,
            limits=limits,
            piece_bytes=config.stream_batching_threshold_bytes,
            compaction=summaries.compaction_percentage if summaries.enabled else None,
            embeds=embeds,
            input_schema=compiled(config.input_schema, "input_schema"),
            output_schema=compiled(config.output_schema, "output_schema"),
        )
        return AgentLoop(task.agent, toolbox, settings, endpoint, self.models, self.on_answered)

    def _peers(self, config: AgentConfig, task: PeerTask) -> PeerToolbox:
        async def end(peer: str, record: TaskFailed) -> bool:
            return await end_task(self.broker, self.dispatcher.client, peer, record, task.agent)

        return PeerToolbox(
            task,
            config.inter_agent_communication,
            config.max_call_depth,
            lambda: self.dispatcher.scopes(task.agent, task.token),
            self.mesh,
            self.broker.events(),
            TaskSender(self.broker.tasks()),
            end,
        )
