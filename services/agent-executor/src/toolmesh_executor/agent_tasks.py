"""Tasks of one agent in this process, for as long as it lives: what an executor does, without its queue."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from toolmesh_client.client import Client
from toolmesh_contracts.agent_config.agent import AgentConfig
from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_executor.agent_files import load_agents
from toolmesh_executor.dispatch import Dispatcher, TokenVerifier, not_found
from toolmesh_executor.loop.conversation import conversation
from toolmesh_executor.loop.decisions import LoopLimits
from toolmesh_executor.loop.journal import MemoryJournal
from toolmesh_executor.loop.records import Record, TaskCancelled, TaskFailed, TaskStarted
from toolmesh_executor.loop.remote_toolbox import RemoteToolbox
from toolmesh_executor.loop.runner import LoopSettings, TaskRun
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.loop.toolbox import ToolView
from toolmesh_executor.models.choice import DEFAULT_VARIABLE, ModelChoice
from toolmesh_executor.models.client import ModelClient
from toolmesh_executor.models.endpoints import Endpoint, Endpoints
from toolmesh_executor.models.turns import TurnAnswer, TurnQuestion
from toolmesh_executor.registry import build_registry

__all__ = ["AgentTasks", "agent_tasks"]

_TURN_BUDGET_S: Final = 180.0
"""For all attempts to get one turn of the model."""


class AgentTasks:
    """One agent, ready to be asked; made by `agent_tasks`."""

    def __init__(
        self,
        config: AgentConfig,
        endpoint: Endpoint,
        models: ModelClient,
        dispatcher: Dispatcher,
        verifier: TokenVerifier,
    ) -> None:
        self._config = config
        self._endpoint = endpoint
        self._models = models
        self._dispatcher = dispatcher
        self._verifier = verifier

    async def run(
        self,
        text: str,
        token: str,
        on_record: Callable[[Record], None],
        timeout_s: float | None = None,
        earlier: Iterable[TaskState] = (),
    ) -> TaskState:
        """Run a task to its end and return where it stands then.

        Args:
            text: What the agent is asked.
            token: Says who asks.
            on_record: Is told each step; a cancelled task ends with its own.
            timeout_s: Seconds for the whole task; None: as long as its parts may take.
            earlier: Tasks that have ended and that the agent is to remember, the oldest first.

        Raises:
            DispatchError: this caller may not call the agent.
        """
        self.tools(token)
        user = self._verifier.claims(token).subject
        journal = MemoryJournal(on_record)
        await journal.append(TaskStarted(agent=self._config.name, user=user, text=text))
        said = tuple(message for state in earlier for message in conversation(state))
        run = TaskRun(journal, self._toolbox(token), self._ask, self._settings(), said)
        try:
            async with asyncio.timeout(timeout_s) as limit:
                await run.run()
        except TimeoutError:
            if not limit.expired():
                raise
            failed = TaskFailed(
                code=ErrorCode.DEADLINE_EXCEEDED,
                message=f"the task did not end within {timeout_s} s",
                hint="give it more time, or ask for less",
            )
            await journal.append(failed)
        except asyncio.CancelledError:
            await journal.append(TaskCancelled(reason="the caller took it back"))
            raise
        return journal.state

    def tools(self, token: str) -> tuple[ToolView, ...]:
        """Return the tools that the model is shown for this caller now.

        Raises:
            DispatchError: this caller may not call the agent.
        """
        return self._toolbox(token).tools()

    async def _ask(
        self,
        question: TurnQuestion,
        on_text: Callable[[str], Awaitable[None]],
        on_again: Callable[[str], Awaitable[None]],
    ) -> TurnAnswer:
        return await self._models.turn(self._endpoint, question, _TURN_BUDGET_S, on_text, on_again)

    def _toolbox(self, token: str) -> RemoteToolbox:
        return RemoteToolbox(
            dispatcher=self._dispatcher,
            agent=self._config.name,
            token=token,
            turn=new_invocation_id(),
            max_bytes=self._config.tool_output_llm_return_max_bytes,
            shape_depth=self._config.schema_inference_depth,
        )

    def _settings(self) -> LoopSettings:
        config = self._config
        limits = LoopLimits(max_turns=config.max_llm_calls_per_task, continues=config.enable_auto_continuation)
        return LoopSettings(
            model=self._endpoint.name,
            instruction=config.instruction,
            limits=limits,
            piece_bytes=config.stream_batching_threshold_bytes,
        )


@asynccontextmanager
async def agent_tasks(
    agent: str, files: Sequence[Path], client: Client, verifier: TokenVerifier, environment: Mapping[str, str]
) -> AsyncIterator[AgentTasks]:
    """Load an agent from its file, and close the connections to its model at the end.

    Args:
        agent: Its name.
        files: Agent files and folders.
        client: What its tools are called through.
        verifier: Whose tokens are believed.
        environment: Has the keys of models, and the model of agents that name none.

    Raises:
        ConfigError: `agent` is in none of the files, and some of them can't be used.
        DispatchError: it is in none of them.
        ModelNotConfiguredError: its model can't be asked.
    """
    loaded = load_agents(files, verifier.namespace, environment)
    if agent not in loaded.agents:
        if loaded.problems:
            raise ConfigError(loaded.problems)
        raise not_found(f"there is no agent {agent!r}", agent, loaded.agents)
    choice = ModelChoice.of_agents(loaded.agents.values(), environment.get(DEFAULT_VARIABLE, ""))
    endpoint = Endpoints({}, environment).of(choice.choose(agent, ""))
    dispatcher = Dispatcher(build_registry(loaded.agents.values()), client, verifier)
    async with ModelClient.open() as models:
        yield AgentTasks(loaded.agents[agent].agent.config, endpoint, models, dispatcher, verifier)
