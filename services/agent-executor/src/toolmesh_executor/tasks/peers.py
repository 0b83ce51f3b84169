"""Other agents as tools: `peer_<agent>` gives one a task of its own and waits for its answer."""

import fnmatch
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.jetstream.event_log import EventLog
from toolmesh_contracts.agent_config.agent import InterAgentCommunication
from toolmesh_contracts.envelopes.catalog import AgentSummary
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.envelopes.task import Task
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.ids import new_uuid7
from toolmesh_contracts.scopes import ScopeSet
from toolmesh_executor.loop.records import PeerCall, TaskCancelled, TaskCompleted, TaskFailed, ToolStarted
from toolmesh_executor.loop.toolbox import (
    ApprovalNeeded,
    CallFound,
    CallProgress,
    NoResultYet,
    ToolOutcome,
    ToolView,
)
from toolmesh_executor.models.turns import OfferedTool
from toolmesh_executor.tasks.journal import opened_journal
from toolmesh_executor.tasks.sending import TaskSender

__all__ = ["GRACE_MS", "PREFIX", "PeerTask", "PeerToolbox"]

PREFIX: Final = "peer_"
GRACE_MS: Final = 5_000
"""After its deadline, for the peer to say so itself."""
_PARAMETERS: Final = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What the agent is asked, with all it has to know."}},
    "required": ["text"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerTask:
    """The task on whose behalf peers are asked.

    Attributes:
        id: Its id.
        agent: Its agent.
        depth: How many agents asked one another before it.
        deadline_ms: Unix time in milliseconds; 0 for none.
        token: Says who asked first: a peer may do what that person may, and no more.
    """

    id: str
    agent: str
    depth: int
    deadline_ms: int
    token: str = field(repr=False)


class PeerToolbox:
    """The agents that one task's agent may ask; each is asked through the queue, so any executor may run it.

    Args:
        task: Who asks.
        settings: Whom the agent's file lets it ask, and for how long.
        max_depth: Agents that may ask one another in a row.
        scopes: Gives those of the caller, as long as the token is good.
        known: The agents of the mesh, by name.
        log: Where peers' tasks are written down.
        sender: Gives them their tasks.
        end: Ends a peer's task that is late.
    """

    def __init__(
        self,
        task: PeerTask,
        settings: InterAgentCommunication,
        max_depth: int,
        scopes: Callable[[], ScopeSet],
        known: Mapping[str, AgentSummary],
        log: EventLog,
        sender: TaskSender,
        end: Callable[[str, TaskFailed], Awaitable[bool]],
    ) -> None:
        self._task = task
        self._settings = settings
        self._max_depth = max_depth
        self._scopes = scopes
        self._known = known
        self._log = log
        self._sender = sender
        self._end = end

    def tools(self) -> tuple[ToolView, ...]:
        """Return the agents that may be asked now: listed, known, and open to this caller."""
        if self._task.depth + 1 >= self._max_depth:
            return ()
        scopes = self._scopes()
        return tuple(
            ToolView(OfferedTool(f"{PREFIX}{name}", _description(name, one), _PARAMETERS))
            for name, one in sorted(self._known.items())
            if self._listed(name) and not scopes.missing((f"agent:{name}:invoke", *one.required_scopes))
        )

    async def ready(self, name: str) -> None:
        """Return at once: a task for an agent that nobody runs right now would wait in the queue."""

    def approval(self, name: str, arguments: bytes) -> ApprovalNeeded | None:
        """Return None: asking an agent needs nobody's approval, and its own tools ask for theirs."""
        return None

    async def call(self, name: str, arguments: bytes, progress: CallProgress, *, approved: bool = False) -> CallFound:
        """Give the agent a task; its answer comes later."""
        text = _text(arguments)
        if not text.strip():
            return ToolOutcome.failed(ErrorCode.INVALID_ARGUMENTS, "`text` must say what the agent is asked")
        peer = PeerCall(task=new_uuid7(), deadline_ms=self._deadline_ms())
        await progress.begin(peer=peer)
        return await self._ask(peer, name, text)

    def began(self, started: ToolStarted) -> bool:
        """Tell whether another agent was asked."""
        return started.peer is not None

    async def recover(self, started: ToolStarted, arguments: bytes) -> CallFound:
        """Return the agent's answer, if it has one by now."""
        if started.peer is None:
            raise ValueError(f"call {started.call} is not one of another agent")
        try:
            return await self._found(started.peer, started.tool, _text(arguments))
        except BrokerError:
            return NoResultYet.COMES_LATER

    async def _found(self, peer: PeerCall, name: str, text: str) -> CallFound:
        async with opened_journal(self._log, peer.task, self._task.agent) as journal:
            state = journal.state
        match state.ended:
            case TaskCompleted(text=answer):
                return ToolOutcome(outcome=Outcome.OK, content=answer)
            case TaskFailed(code=code, message=message):
                return ToolOutcome.failed(code, message)
            case TaskCancelled(reason=reason):
                return ToolOutcome.failed(ErrorCode.CANCELLED, f"the agent's task was cancelled: {reason}")
        if _now_ms() >= peer.deadline_ms + GRACE_MS:
            late = TaskFailed(code=ErrorCode.DEADLINE_EXCEEDED, message=f"{name} did not answer in time")
            return (
                ToolOutcome.failed(late.code, late.message)
                if await self._end(peer.task, late)
                else NoResultYet.COMES_LATER
            )
        if state.started is None:
            # Perhaps it was never sent: whoever was to do it stopped right before.
            return await self._ask(peer, name, text)
        return NoResultYet.COMES_LATER

    async def _ask(self, peer: PeerCall, name: str, text: str) -> CallFound:
        task = Task(
            id=peer.task,
            agent=name.removeprefix(PREFIX),
            text=text,
            parent=self._task.id,
            parent_agent=self._task.agent,
            depth=self._task.depth + 1,
            deadline_ms=peer.deadline_ms,
        )
        try:
            await self._sender.start(task, self._task.token)
        except BrokerError as error:
            return ToolOutcome.failed(error.code, f"the agent was not asked: {error.message}")
        return NoResultYet.COMES_LATER

    def _deadline_ms(self) -> int:
        own = _now_ms() + int(self._settings.request_timeout_seconds * 1000)
        return min(own, self._task.deadline_ms) if self._task.deadline_ms else own

    def _listed(self, name: str) -> bool:
        if name == self._task.agent:
            return False
        allowed = any(fnmatch.fnmatchcase(name, pattern) for pattern in self._settings.allow_list)
        return allowed and not any(fnmatch.fnmatchcase(name, pattern) for pattern in self._settings.deny_list)


def _text(arguments: bytes) -> str:
    try:
        text = json.loads(arguments or b"{}").get("text", "")
    except RecursionError:  # nested as deep as is just let through
        return ""
    return text if isinstance(text, str) else ""


def _description(name: str, one: AgentSummary) -> str:
    return f"Ask the agent {name}. {one.description}".strip()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
