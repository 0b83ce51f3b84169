"""Exposure, dispatch and worker: each of the three checks alone lets a caller reach what was granted, and nothing else.

Each is tried with the two others switched off: exposure is only looked at; dispatch is asked for tools by name, and its
worker runs whatever comes; the worker gets calls that are signed for everybody. What the executor runs itself has the
first two.
"""

import asyncio
import contextlib
import fnmatch
import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.function_tools import Progress, names_of
from tests.support.scripted_worker import catalog_entry, echo
from tests.support.signed_calls import invocation, message
from tests.support.tool_client import NAMESPACE, memory_mesh

from toolmesh_contracts.access.authorization import AssignedRoles, Authorization, AuthorizationType, Role
from toolmesh_contracts.access.narrowing import narrow
from toolmesh_contracts.access.resolution import access_of_person
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.envelopes.values import Caller
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.scopes import ScopeSet
from toolmesh_executor.agent_files import load_agents
from toolmesh_executor.dispatch import Dispatcher, DispatchError, TokenVerifier
from toolmesh_executor.loop.builtin_toolbox import BuiltinToolbox
from toolmesh_executor.loop.toolbox import ToolOutcome
from toolmesh_executor.registry import AgentTools, build_registry
from toolmesh_identity.development import ISSUER_NAME, DevelopmentIssuer
from toolmesh_runtime.admission import CallRefusedError, Verifier, require_scopes

AGENTS = """
agents:
  - name: clerk
    tools:
      - {tool_type: builtin, tool_name: open}
      - {tool_type: builtin, tool_name: by_entry, required_scopes: ["tool:entry:use"]}
      - {tool_type: builtin, tool_name: by_manifest}
      - {tool_type: builtin, tool_name: by_both, required_scopes: ["tool:entry:use", "connector:_:read"]}
      - {tool_type: builtin, tool_name: get_current_time, required_scopes: ["tool:entry:use"]}
  - name: chief
    required_scopes: ["rbac:_:read"]
    tools:
      - {tool_type: builtin, tool_name: open}
      - {tool_type: builtin, tool_name: by_manifest}
      - {tool_type: builtin-group, group_name: builtin_time_tools}
"""
MANIFEST = {"open": (), "by_entry": (), "by_manifest": ("tool:manifest:use",), "by_both": ("tool:manifest:use",)}
OF_AGENTS = {"clerk": ("agent:clerk:invoke",), "chief": ("agent:chief:invoke", "rbac:_:read")}
OF_ENTRIES = {
    ("clerk", "by_entry"): ("tool:entry:use",),
    ("clerk", "by_both"): ("tool:entry:use", "connector:_:read"),
    ("clerk", "get_current_time"): ("tool:entry:use",),
}
REACHABLE = [(agent, tool) for agent in ("clerk", "chief") for tool in MANIFEST if agent == "clerk" or "_" not in tool]
REACHABLE += [("chief", "by_manifest")]
LOCAL = [("clerk", "get_current_time"), ("chief", "get_current_time")]

USERS = st.sampled_from(["ann", "bob"])
ROLES = st.integers(0, 3)
PIECES = [
    "agent:clerk:invoke",
    "agent:chief:invoke",
    "rbac:_:read",
    "tool:entry:use",
    "tool:manifest:use",
    "connector:_:read",
]
ODD = [
    "agent:c*:invoke", "agent:*:invoke", "agent:*:*", "agent:_:invoke", "tool:*:use", "tool:*:*", "tool:e*:u*",
    "tool:entry:read", "connector:*:read", "connector:x:read", "rbac:*:*", "*", "*:*:*", "tools:*", "workflow:*:invoke",
]  # fmt: skip
GRANTS = st.lists(st.one_of(st.sampled_from(PIECES), st.sampled_from(PIECES), st.sampled_from(ODD)), max_size=5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("role"), ROLES, GRANTS, st.sets(ROLES, max_size=2)),
        st.tuples(st.just("user"), USERS, st.sets(ROLES, max_size=3)),
        st.tuples(st.just("delegate"), USERS, GRANTS),
        st.tuples(st.just("call"), USERS, st.integers(0, 20)),
    ),
    min_size=3,
    max_size=14,
)


@dataclass
class World:
    """What was granted so far: as the product has it, and as a plain list of who may what. Roles are empty at first."""

    roles: dict[int, tuple[tuple[str, ...], frozenset[int]]] = field(
        default_factory=lambda: dict.fromkeys(range(4), ((), frozenset()))
    )
    users: dict[str, frozenset[int]] = field(default_factory=lambda: {"ann": frozenset({0, 1}), "bob": frozenset({2})})
    delegated: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)

    def token_scopes(self, user: str) -> tuple[str, ...]:
        """The scopes that the product puts into the user's token."""
        authorization = Authorization(
            type=AuthorizationType.DEFAULT_RBAC,
            roles={
                f"r{number}": Role(name=f"r{number}", scopes=scopes, inherits=tuple(f"r{other}" for other in others))
                for number, (scopes, others) in self.roles.items()
            },
            users={one: AssignedRoles(tuple(f"r{role}" for role in roles), "") for one, roles in self.users.items()},
        )
        scopes = access_of_person(authorization, user).scopes
        for hints in self.delegated.get(user, []):
            scopes = narrow(scopes, hints).scopes
        return scopes

    def was_granted(self, user: str, needed: Sequence[str]) -> bool:
        """Whether roles, and each delegation on the way, grant all that is needed."""
        own = [scope for role in self._all_roles(self.users.get(user, frozenset())) for scope in self.roles[role][0]]
        return all(
            any(plainly_covers(grant, scope) for grant in grants)
            for grants in (own, *self.delegated.get(user, []))
            for scope in needed
        )

    def _all_roles(self, roles: frozenset[int]) -> frozenset[int]:
        more = roles | {other for role in roles for other in self.roles[role][1]}
        return roles if more == roles else self._all_roles(more)

    def take(self, step: tuple[object, ...]) -> None:
        """A role is edited, a user gets other roles, or a token is handed on with hints."""
        match step:
            case ("role", int(number), list(scopes), set(others)):
                # Roles that inherit from themselves are refused when files are loaded.
                self.roles[number] = (tuple(scopes), frozenset(other for other in others if other < number))
            case ("user", str(user), set(roles)):
                self.users[user] = frozenset(roles)
                self.delegated.pop(user, None)
            case ("delegate", str(user), list(hints)):
                self.delegated.setdefault(user, []).append(tuple(hints))


def plainly_covers(grant: str, scope: str) -> bool:
    """The grammar of scopes as the reference has it, written a second time."""
    if grant in {"*", "*:*:*"}:
        return True
    parts, wanted = grant.split(":"), scope.split(":")
    return len(parts) == len(wanted) == 3 and all(
        fnmatch.fnmatchcase(want, part) or (part, want) == ("_", "*") for part, want in zip(parts, wanted, strict=True)
    )


class Check(Protocol):
    """One of the three, with the two others switched off."""

    def reaches(self, scopes: tuple[str, ...], agent: str, tool: str) -> bool:
        """Whether a token with these scopes gets to the tool."""


class Exposure:
    """What the model is shown."""

    def __init__(self, agents: Mapping[str, AgentTools]) -> None:
        self._agents = agents
        entries = {tool: catalog_entry(tool, required_scopes=scopes) for tool, scopes in MANIFEST.items()}
        self._catalog = {"default": entries}

    def reaches(self, scopes: tuple[str, ...], agent: str, tool: str) -> bool:
        """It is in the list."""
        shown = self._agents[agent].visible_tools(ScopeSet(scopes), self._catalog)
        return tool in {one.tool.exposed_name for one in shown}


class Dispatch:
    """A dispatcher whose worker asks for nothing."""

    def __init__(self, runner: asyncio.Runner, dispatcher: Dispatcher, issuer: DevelopmentIssuer) -> None:
        self._runner = runner
        self._dispatcher = dispatcher
        self._issuer = issuer

    def reaches(self, scopes: tuple[str, ...], agent: str, tool: str) -> bool:
        """It ran."""
        token = self._issuer.token("ann", scopes, audience=NAMESPACE)
        result = self._runner.run(self._dispatcher.dispatch(agent, tool, b"{}", token))
        assert result.ok or (result.error is not None and result.error.code is ErrorCode.PERMISSION_DENIED), result
        return result.ok


class LocalExposure:
    """What the model is shown of the executor's own tools."""

    def __init__(self, dispatcher: Dispatcher, issuer: DevelopmentIssuer) -> None:
        self._dispatcher = dispatcher
        self._issuer = issuer

    def toolbox(self, scopes: tuple[str, ...], agent: str) -> BuiltinToolbox:
        """What a task would have."""
        token = self._issuer.token("ann", scopes, audience=NAMESPACE)
        return BuiltinToolbox(dispatcher=self._dispatcher, agent=agent, token=token)

    def reaches(self, scopes: tuple[str, ...], agent: str, tool: str) -> bool:
        """It is in the list; a caller who may not call the agent sees none."""
        try:
            return tool in names_of(self.toolbox(scopes, agent).tools())
        except DispatchError:
            return False


class LocalCall(LocalExposure):
    """The executor's own tools, called by name."""

    def reaches(self, scopes: tuple[str, ...], agent: str, tool: str) -> bool:
        """It ran."""
        outcome = asyncio.run(self.toolbox(scopes, agent).call(tool, b"{}", Progress()))
        assert isinstance(outcome, ToolOutcome)
        assert outcome.outcome is Outcome.OK or outcome.code is ErrorCode.PERMISSION_DENIED, outcome
        return outcome.outcome is Outcome.OK


class WorkerAlone:
    """A worker whose executor signs every call, whoever makes it."""

    def __init__(self, agents: Mapping[str, AgentTools], issuer: DevelopmentIssuer) -> None:
        self._agents = agents
        self._issuer = issuer
        self._verifier = Verifier(
            namespace="test",
            pool="default",
            issuer=issuer.name,
            issuer_keys=issuer.issuer_public_keys(),
            executor_keys=issuer.executor_public_keys(),
            sealing_keys=issuer.sealing_keys("default"),
        )

    def reaches(self, scopes: tuple[str, ...], agent: str, tool: str) -> bool:
        """It is admitted."""
        tools = self._agents[agent]
        signed = tools.scopes_to_sign(tools.tools[tool])
        call = invocation(tool=tool, caller=Caller(user="ada", agent=agent), required_scopes=signed)
        admitted = self._verifier.admit(message(self._issuer, call, scopes=scopes), time.time())
        try:
            require_scopes(admitted, MANIFEST[tool])
        except CallRefusedError as error:
            if error.code is not ErrorCode.PERMISSION_DENIED:
                raise
            return False
        return True


@contextlib.contextmanager
def check_alone(name: str) -> Iterator[Check]:
    with tempfile.TemporaryDirectory() as place, asyncio.Runner() as runner:
        folder = Path(place)
        (folder / "agents.yaml").write_text(AGENTS)
        loaded = load_agents([folder / "agents.yaml"], NAMESPACE, {})
        assert loaded.problems == ()
        agents = build_registry(loaded.agents.values())
        issuer = DevelopmentIssuer.create_or_load(folder / "keys")
        if name == "exposure":
            yield Exposure(agents)
        elif name == "worker":
            yield WorkerAlone(agents, issuer)
        else:
            entries = {tool: {"required_scopes": scopes} for tool, scopes in MANIFEST.items()}
            mesh = memory_mesh(folder, dict.fromkeys(MANIFEST, echo), entries=entries)
            _, client, _ = runner.run(mesh.__aenter__())
            try:
                verifier = TokenVerifier(keys=issuer.issuer_public_keys(), namespace=NAMESPACE, issuer=ISSUER_NAME)
                dispatcher = Dispatcher(agents, client, verifier)
                if name == "dispatch":
                    yield Dispatch(runner, dispatcher, issuer)
                else:
                    yield (LocalExposure if name == "local exposure" else LocalCall)(dispatcher, issuer)
            finally:
                runner.run(mesh.__aexit__(None, None, None))


@pytest.mark.parametrize("name", ["exposure", "dispatch", "worker", "local exposure", "local call"])
@pytest.mark.requirement("access:three-checks")
def test_no_sequence_reaches_a_tool_outside_the_grants(name: str) -> None:
    """Grants, edits of roles, delegations and calls in any order: reached is only what was granted then, at each check.

    Without a delegation, which may drop more than it has to, all that was granted is reached, too.
    """
    reachable = LOCAL if name.startswith("local") else REACHABLE
    with check_alone(name) as check:

        @given(STEPS)
        @settings(max_examples=150, deadline=None)
        def any_sequence(steps: list[tuple[object, ...]]) -> None:
            world = World()
            for step in steps:
                world.take(step)
                match step:
                    case ("call", str(user), int(number)):
                        see_that(check, world, user, *reachable[number % len(reachable)])
            for user, (agent, tool) in itertools.product(("ann", "bob"), reachable):
                see_that(check, world, user, agent, tool)

        any_sequence()


def see_that(check: Check, world: World, user: str, agent: str, tool: str) -> None:
    needed = (*OF_AGENTS[agent], *OF_ENTRIES.get((agent, tool), ()), *MANIFEST.get(tool, ()))
    granted = world.was_granted(user, needed)
    reached = check.reaches(world.token_scopes(user), agent, tool)
    assert granted or not reached, f"{user} reaches {agent}/{tool} with {world.token_scopes(user)}"
    if not world.delegated.get(user):
        assert reached or not granted, f"{user} does not reach {agent}/{tool} with {world.token_scopes(user)}"
