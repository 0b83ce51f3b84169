"""Calls an agent's remote tool for a caller: scopes once more, settings, then the client."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from toolmesh_client.client import Client
from toolmesh_client.errors import CallNotQueuedError, ClientError
from toolmesh_client.request import CallRequest
from toolmesh_client.resolution import resolve_tool
from toolmesh_client.result import CallResult
from toolmesh_client.runner import Announce, Keep
from toolmesh_contracts.agent_config.entries import Approval
from toolmesh_contracts.config_problems import nearest
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome, Status
from toolmesh_contracts.envelopes.values import ArtifactRef
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.scopes import ScopeSet
from toolmesh_executor.registry import AgentTools, LocalTool, RemoteTool, VisibleTool
from toolmesh_identity import tokens
from toolmesh_identity.claims import Claims
from toolmesh_identity.errors import IdentityError
from toolmesh_identity.keys import VerifyingKeys
from toolmesh_telemetry.tracing import bound, child

__all__ = ["CallWatch", "DispatchError", "Dispatcher", "NotServedError", "TokenVerifier", "not_found"]


class DispatchError(ToolmeshError):
    """Raised when a caller may not do what it asks for, or there is no such agent or tool."""

    default_code = ErrorCode.PERMISSION_DENIED


class NotServedError(DispatchError):
    """Raised when no worker serves an agent's tool now.

    Attributes:
        remote_name: The tool's name on its workers.
    """

    default_code = ErrorCode.TOOL_NOT_AVAILABLE

    def __init__(self, tool: RemoteTool) -> None:
        super().__init__(
            f"tool {tool.exposed_name!r} is not available now: no worker serves {tool.remote_name!r}",
            hint="try again later, or do without it",
        )
        self.remote_name = tool.remote_name


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWatch:
    """How an agent's task looks after a call, which may outlive its executor.

    Attributes:
        task: The task's id.
        approved: A person has agreed to the call.
        announce: As in `Client.start`.
        keep: As in `Client.start`.
    """

    task: str
    approved: bool
    announce: Announce
    keep: Keep


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenVerifier:
    """Decides whose tokens are believed."""

    keys: VerifyingKeys
    namespace: str
    issuer: str

    def claims(self, token: str) -> Claims:
        """Return a token's verified claims.

        Raises:
            DispatchError: it proves nothing.
        """
        try:
            return tokens.verify(token, self.keys, audience=self.namespace, issuer=self.issuer, now=time.time())
        except IdentityError as error:
            raise DispatchError(error.message, code=ErrorCode.AUTHENTICATION_FAILED, hint="sign in again") from error


class Dispatcher:
    """The agents' remote tools, for callers with a token.

    Args:
        agents: Each agent's tools, by its name.
        client: What the calls go through.
        verifier: Whose tokens are believed.
        ended: Told the agent, tool and outcome of every call of a tool that there is.
    """

    def __init__(
        self,
        agents: Mapping[str, AgentTools],
        client: Client,
        verifier: TokenVerifier,
        ended: Callable[[str, str, Outcome], None] | None = None,
    ) -> None:
        self._agents = agents
        self._client = client
        self._verifier = verifier
        self._ended = ended

    @property
    def client(self) -> Client:
        """What the calls go through."""
        return self._client

    def visible_tools(self, agent: str, token: str) -> tuple[VisibleTool, ...]:
        """Return the tools that the model may see: this caller may use them, and workers serve them now.

        Raises:
            DispatchError: no such agent, the token proves nothing, or the caller may not call the agent.
        """
        tools, scopes = self._admitted(agent, token)
        return tools.visible_tools(scopes, self._client.tools())

    def entry_of(self, agent: str, exposed_name: str, token: str) -> CatalogEntry:
        """Return what workers say of an agent's tool.

        Raises:
            DispatchError: this caller can't call it now, and why.
        """
        return self._authorised(agent, exposed_name, token)[1]

    async def until_served(self, agent: str, exposed_name: str, seconds: float) -> None:
        """Wait, at most some seconds, until workers serve a tool of an agent; at once if there is no such tool."""
        tools = self._agents.get(agent)
        tool = None if tools is None else tools.tools.get(exposed_name)
        if tool is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._client.catalog.wait_until(lambda _: _is_served(self._client, tool))

    def local_tools(self, agent: str, token: str) -> tuple[LocalTool, ...]:
        """Return the tools that the executor runs itself and that this caller may use.

        Raises:
            DispatchError: as `visible_tools`.
        """
        tools, scopes = self._admitted(agent, token)
        return tuple(tool for tool in tools.local.values() if not tools.missing_scopes(tool, None, scopes))

    def local_tool(self, agent: str, exposed_name: str, token: str) -> LocalTool:
        """Return a tool that the executor runs itself, for a call.

        Raises:
            DispatchError: this caller can't call it, and why.
        """
        tools, scopes = self._admitted(agent, token)
        tool = tools.local.get(exposed_name)
        if tool is None:
            raise not_found(f"agent {agent!r} has no built-in tool {exposed_name!r}", exposed_name, tools.local)
        _require(tools.missing_scopes(tool, None, scopes), f"tool {exposed_name!r}")
        return tool

    def count(self, agent: str, exposed_name: str, outcome: Outcome) -> None:
        """Tell that a call of an agent's tool has ended."""
        if self._ended is not None:
            self._ended(agent, exposed_name, outcome)

    def approval(self, agent: str, exposed_name: str) -> Approval | None:
        """Return how a person must agree to each call of a tool; None if nobody has to, or there is no such tool."""
        tools = self._agents.get(agent)
        tool = None if tools is None else tools.named(exposed_name)
        return None if tool is None else tool.approval

    def scopes(self, agent: str, token: str) -> ScopeSet:
        """Return the scopes of a caller who may call the agent.

        Raises:
            DispatchError: no such agent, the token proves nothing, or the caller may not call the agent.
        """
        return self._admitted(agent, token)[1]

    async def dispatch(
        self,
        agent: str,
        exposed_name: str,
        arguments: Mapping[str, object] | bytes,
        token: str,
        *,
        on_status: Callable[[Status], None] | None = None,
        artifacts: Mapping[str, ArtifactRef | Path] | None = None,
        timeout_s: float | None = None,
        turn: str = "",
        traceparent: str | None = None,
        requeued_from: str = "",
        watch: CallWatch | None = None,
    ) -> CallResult:
        """Call a tool and return its result. Whatever goes wrong is a result for the model, never an exception.

        `turn` names the agent's turn, for which declared tools keep their workspace; `requeued_from` the dead letter
        that is called again; `watch` is given by an agent's task.
        """
        # Whether it is counted: a call may outlast the agent's file.
        known = agent in self._agents and exposed_name in self._agents[agent].tools
        with bound(child(traceparent)) as trace:
            try:
                tool, entry = self._authorised(agent, exposed_name, token)
                if watch is None or not watch.approved:
                    _require_no_approval(tool)
                clear, secrets = tool.settings_for(entry)
                request = CallRequest(
                    tool=tool.remote_name,
                    pool=entry.pool,
                    exposed_name=exposed_name,
                    arguments=arguments,
                    artifacts=artifacts or {},
                    tool_config=clear,
                    secrets=secrets,
                    required_scopes=self._agents[agent].scopes_to_sign(tool),
                    timeout_s=timeout_s,
                    token=token,
                    agent=agent,
                    turn=turn,
                    traceparent=str(trace),
                    requeued_from=requeued_from,
                    task="" if watch is None else watch.task,
                    outlives_caller=watch is not None,
                )
                result = await self._client.run(
                    request,
                    on_status,
                    announce=None if watch is None else watch.announce,
                    keep=None if watch is None else watch.keep,
                )
            except ToolmeshError as error:
                result = _error_result(exposed_name, error)
        if known:
            self.count(agent, exposed_name, result.outcome)
        return result

    def _authorised(self, agent: str, exposed_name: str, token: str) -> tuple[RemoteTool, CatalogEntry]:
        tools, scopes = self._admitted(agent, token)
        tool = tools.tools.get(exposed_name)
        if exposed_name in tools.local:
            raise DispatchError(
                f"tool {exposed_name!r} is one that only agent {agent!r} itself can call",
                code=ErrorCode.TOOL_NOT_AVAILABLE,
                hint="ask the agent instead: `toolmesh ask`",
            )
        if tool is None:
            raise _left_out(tools, exposed_name) or not_found(
                f"agent {agent!r} has no tool {exposed_name!r}", exposed_name, tools.tools
            )
        # Before the catalog: a caller without the scopes learns nothing of what is served.
        _require(tools.missing_scopes(tool, None, scopes), f"tool {exposed_name!r}")
        entry = _served(self._client, tool)
        _require(tools.missing_scopes(tool, entry, scopes), f"tool {exposed_name!r}")
        return tool, entry

    def _admitted(self, agent: str, token: str) -> tuple[AgentTools, ScopeSet]:
        """Return an agent's tools, and the scopes of a caller who may call it."""
        tools, claims = self._agent(agent), self._verifier.claims(token)
        if claims.agent not in ("", agent):
            raise DispatchError(
                f"the token was given to agent {claims.agent!r}, not to {agent!r}",
                hint="an agent that calls another one needs a token for it",
            )
        scopes = ScopeSet(claims.scopes)
        _require(scopes.missing(tools.admission_scopes()), f"agent {agent!r}")
        return tools, scopes

    def _agent(self, name: str) -> AgentTools:
        tools = self._agents.get(name)
        if tools is None:
            raise not_found(f"there is no agent {name!r}", name, self._agents)
        return tools


def _is_served(client: Client, tool: RemoteTool) -> bool:
    try:
        _served(client, tool)
    except (ClientError, NotServedError):
        return False
    return True


def _served(client: Client, tool: RemoteTool) -> CatalogEntry:
    try:
        return resolve_tool(client.tools(), tool.remote_name, None)
    except ClientError as error:
        if error.code is not ErrorCode.TOOL_NOT_FOUND:
            raise
        raise NotServedError(tool) from error


def _require_no_approval(tool: RemoteTool) -> None:
    if tool.approval is not None:
        raise DispatchError(
            f"tool {tool.exposed_name!r} needs a person's approval, and there is no channel to ask on",
            hint=f"ask the agent instead (`toolmesh ask`), or see `hil` in {tool.place}",
        )


def _require(missing: tuple[str, ...], what: str) -> None:
    if missing:
        raise DispatchError(
            f"{what} needs the scope {', '.join(missing)}", hint="ask an administrator for a role that grants it"
        )


def _left_out(tools: AgentTools, exposed_name: str) -> DispatchError | None:
    """Return why the agent has to do without a tool that its file names."""
    problem = tools.left_out(exposed_name)
    if problem is None:
        return None
    return DispatchError(
        f"agent {tools.agent!r} has to do without tool {exposed_name!r}: {problem.message}",
        code=problem.code,
        hint="correct that; `toolmesh config validate` checks the file",
    )


def not_found(message: str, name: str, known: Mapping[str, object]) -> DispatchError:
    """Return that an agent or tool does not exist, with the nearest name that does."""
    near = nearest(name, list(known))
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(sorted(known)) or 'none'}"
    return DispatchError(message, code=ErrorCode.TOOL_NOT_FOUND, hint=hint)


def _error_result(tool: str, error: ToolmeshError) -> CallResult:
    retry_after_ms = int(error.retry_after_s * 1000) if isinstance(error, CallNotQueuedError) else None
    retryable = error.code in {ErrorCode.RESOURCE_EXHAUSTED, ErrorCode.TOOL_NOT_AVAILABLE}
    return CallResult(
        invocation="",
        pool="",
        tool=tool,
        outcome=Outcome.ERROR,
        message=error.message,
        error=ErrorInfo(
            code=error.code,
            message=error.message,
            retryable=retryable,
            retry_after_ms=retry_after_ms,
            hint=error.hint,
        ),
    )
