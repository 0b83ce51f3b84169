"""A tool's question to the model: through a real worker, broker and executor to a scripted provider, and back."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.support.executor_mesh import executor_in_process, executor_process
from tests.support.health_pages import fetch
from tests.support.published_sdk import RELEASES, published_toolset
from tests.support.sample_toolsets import write_toolset
from tests.support.worker_mesh import NAMESPACE, POOL, WorkerMesh, broker_and_client, worker_in_process

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.identities import Executor, Worker
from toolmesh_broker.jetstream.broker import connect as connect_broker
from toolmesh_broker.ports import Broker, Message
from toolmesh_client import CallRequest, CallResult
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.envelopes.services import ModelReply, ModelRequest
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.headers import BODY_SHA256
from toolmesh_contracts.invocation_headers import InvocationHeaders
from toolmesh_contracts.model_config import ToolModelLimits
from toolmesh_contracts.wire import decode, encode, schema_name
from toolmesh_executor.models.call_proof import CallVerifier
from toolmesh_executor.models.choice import ModelChoice
from toolmesh_executor.models.client import ModelClient
from toolmesh_executor.models.endpoints import Endpoints
from toolmesh_executor.models.questions import ModelAnswer
from toolmesh_executor.models.tool_models import ToolModels
from toolmesh_identity.keys import SigningKey
from toolmesh_identity.signatures import CallFields, sign_call
from toolmesh_scripted_model import ScriptedModel, Turn, scripted_model

pytestmark = pytest.mark.timeout(180)  # the provider libraries take seconds to import

KEY = "sk-zebra-crossing-7"
ASK = '''
import os

from toolmesh_sdk import IPCError, SandboxToolContextFacade, ToolResult, tool_cli


def ask(
    question: str, ctx: SandboxToolContextFacade, model: str = "", times: int = 1, timeout_s: float = 100
) -> ToolResult:
    """Ask the model, and tell all there is to know.

    Args:
        question: What to ask.
        model: Which one.
        times: How often.
        timeout_s: How long to wait.
    """
    said = []
    for _ in range(times):
        try:
            answer = ctx.ask_model("be short", question, 0.3, model=model, max_tokens=50, timeout_s=timeout_s)
            said.append([answer.text, answer.model, answer.input_tokens, answer.output_tokens])
        except IPCError as problem:
            said.append(str(problem))
    return ToolResult.ok("asked", data={"said": said, "environment": dict(os.environ)})


cli = tool_cli(ask)

if __name__ == "__main__":
    cli()
'''

TESTER = "agents: [{name: tester}]"
"""The agent of the client's own token."""


def environment(server: ScriptedModel, model: str = "openai/small") -> dict[str, str]:
    return {
        "TOOLMESH_MODEL": model,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": server.openai_url,
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": server.url,
    }


@asynccontextmanager
async def asking_mesh(folder: Path) -> AsyncIterator[WorkerMesh]:
    """A broker, a client and a worker with the tool; no executor yet."""
    toolset = write_toolset(folder / "toolset", {"ask": (ASK, {})})
    async with broker_and_client(folder, executors=["executor-1"]) as mesh, worker_in_process(mesh, [toolset]):
        yield mesh


def said(result: CallResult) -> list[Any]:
    """What the tool heard."""
    assert result.outcome is Outcome.OK, result.error
    assert isinstance(result.data, dict)
    return list(result.data["said"])


async def asked(mesh: WorkerMesh, agent: str = "", **arguments: Any) -> CallResult:
    """Call the tool, for an agent or for none."""
    token = mesh.issuer.token("ada", ("*",), audience=NAMESPACE)
    request = CallRequest(tool="ask", arguments={"question": "why?", **arguments}, agent=agent, token=token)
    return await mesh.client.run(request)


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
@pytest.mark.requirement("models:tools")
async def test_tool_asks_the_model_of_the_executor(tmp_path: Path, dialect: str) -> None:
    """The answer with its tokens, which the call's usage and the executor's metrics count too."""
    async with asking_mesh(tmp_path) as mesh, scripted_model() as server:
        async with executor_in_process(mesh, environment(server, f"{dialect}/small")) as executor:
            result = await asked(mesh, times=2)
            _, metrics = await fetch(executor.health_port, "/metrics")
        question = server.asked[0]
    assert said(result) == [["heard why?", f"{dialect}/small", 11, 7]] * 2
    assert (question.system, question.user, question.key) == ("be short", "why?", KEY)
    assert result.usage is not None
    used = (result.usage.model_calls, result.usage.model_input_tokens, result.usage.model_output_tokens)
    assert used == (2, 22, 14)
    assert 'toolmesh_executor_model_calls_total{agent="",outcome="ok"} 2.0' in metrics
    assert 'toolmesh_executor_model_tokens_total{agent="",direction="in"} 22.0' in metrics


@pytest.mark.requirement("models:tools")
async def test_published_client_asks_it_too(tmp_path: Path) -> None:
    """The unchanged package, under the launcher, has the executor's answer."""
    toolset = await asyncio.to_thread(published_toolset, tmp_path / "toolset", RELEASES[-1], ["everything"])
    (tmp_path / "report.txt").write_text("soft words")
    async with (
        broker_and_client(tmp_path, executors=["executor-1"]) as mesh,
        worker_in_process(mesh, [toolset]),
        scripted_model() as server,
        executor_in_process(mesh, environment(server), agents=TESTER),
    ):
        result = await mesh.client.call(
            "everything", {"city": "Oslo"}, artifacts={"doc": tmp_path / "report.txt"}, tool_config={"unit": "c"}
        )
    assert isinstance(result.data, dict), result
    assert result.data["answer"] == "heard Oslo"


AGENTS = """
agents:
  - name: careful
    model: anthropic/large
    tool_models: [openai/cheap]
  - name: plain
"""


@pytest.mark.requirement("models:choice")
async def test_agent_has_its_model_and_says_which_others_its_tools_may_choose(tmp_path: Path) -> None:
    """An agent's own model, a choice that it allows, and one that it does not; the default; an unknown agent has none."""
    async with (
        asking_mesh(tmp_path) as mesh,
        scripted_model() as server,
        executor_in_process(mesh, environment(server), agents=AGENTS),
    ):
        own = await asked(mesh, "careful")
        chosen = await asked(mesh, "careful", model="openai/cheap")
        named = await asked(mesh, "careful", model="anthropic/large")
        refused = await asked(mesh, "careful", model="openai/huge")
        default = await asked(mesh, "plain")
        stranger = await asked(mesh, "nobody")
        asked_of_models = len(server.asked)
    assert [said(one)[0][1] for one in (own, chosen, named, default)] == [
        "anthropic/large",
        "openai/cheap",
        "anthropic/large",
        "openai/small",
    ]
    assert "tools of agent 'careful' may not choose model 'openai/huge'; allowed: openai/cheap" in said(refused)[0]
    assert "the executor that was asked does not know the agent 'nobody' (give all" in said(stranger)[0]
    assert asked_of_models == 4


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({}, "no model is configured (set `model` in the agent's file, `models.default`"),
        ({"TOOLMESH_MODEL": "openai/x"}, "needs a key of openai (set OPENAI_API_KEY in the executor's environment)"),
        ({"TOOLMESH_MODEL": "openia/x"}, "unknown provider 'openia' (did you mean 'openai'?"),
        ({"TOOLMESH_MODEL": "gpt-5"}, "model 'gpt-5' has no provider (write provider/model"),
    ],
)
@pytest.mark.requirement("models:errors")
async def test_missing_configuration_is_told_to_the_tool(
    tmp_path: Path, variables: Mapping[str, str], says: str
) -> None:
    """What is missing, and what to set where."""
    async with asking_mesh(tmp_path) as mesh, executor_in_process(mesh, variables):
        (heard,) = said(await asked(mesh))
    assert says in heard
    assert "MODEL_NOT_CONFIGURED" in heard


@pytest.mark.requirement("models:retries")
async def test_trouble_of_the_provider_is_dealt_with_within_the_calls_time(tmp_path: Path) -> None:
    """A rate limit and a cut answer are asked again; silence and a refused key end with the reason, in time."""
    async with (
        asking_mesh(tmp_path) as mesh,
        scripted_model() as server,
        executor_in_process(mesh, environment(server)),
    ):
        server.script(Turn(status=429, headers={"retry-after": "0"}), Turn(cut_after=10))
        late = await asked(mesh)
        server.script(Turn(status=401))
        refused = await asked(mesh)
        server.script(Turn(stall=True))
        silent = await asked(mesh, timeout_s=3)
    assert said(late)[0][0] == "heard why?"
    assert "the key for model 'openai/small' is missing or was refused" in said(refused)[0]
    assert KEY not in said(refused)[0]
    assert "model 'openai/small' did not answer within" in said(silent)[0]
    assert late.usage is not None
    assert silent.usage is not None
    assert (late.usage.model_calls, silent.usage.model_calls) == (1, 0)


@pytest.mark.requirement("models:bounds")
async def test_one_call_may_ask_only_so_much(tmp_path: Path) -> None:
    """Questions, their length, and tokens; the next call begins anew."""
    limits = {"calls_per_invocation": 2, "max_prompt_characters": 1000, "tokens_per_invocation": 500}
    async with (
        asking_mesh(tmp_path) as mesh,
        scripted_model() as server,
        executor_in_process(mesh, environment(server), models={"for_tools": limits}),
    ):
        first = said(await asked(mesh, times=4))
        again = said(await asked(mesh, times=1))
        long = said(await asked(mesh, question="x" * 1001))
        dear = said(await asked(mesh, question="x" * 980, times=2))
        sent = len(server.asked)
    assert [isinstance(one, list) for one in first] == [True, True, False, False]
    assert "this call has asked 2 questions, and may ask no more (RESOURCE_EXHAUSTED)" in first[2]
    assert again[0][0] == "heard why?"
    assert "the question has 1009 characters, at most 1000 are allowed" in long[0]
    assert isinstance(dear[0], list)
    assert sent == 5


@pytest.mark.requirement("models:keys")
async def test_key_stays_in_the_executor(tmp_path: Path) -> None:
    """Not in its log, not on the broker, not in the tool's environment, not in what the tool is told."""
    async with asking_mesh(tmp_path) as mesh, scripted_model() as server:
        async with executor_process(mesh, environment(server), log_level="debug") as log:
            answered = await asked(mesh)
            server.script(Turn(status=401))
            refused = await asked(mesh)
            told = log.read_text()
        keys = {question.key for question in server.asked}
    assert keys == {KEY}
    assert said(answered)[0][0] == "heard why?"
    assert "a tool asked a model" in told
    assert KEY not in told
    assert KEY not in repr(answered) + repr(refused)
    held = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert held
    assert not [path for path in held if KEY.encode() in path.read_bytes()]


class Forger:
    """A worker's identity and the headers of one call that an executor signed."""

    def __init__(self, mesh: WorkerMesh, pool: str = POOL, **fields: Any) -> None:
        self.token = fields.pop("token", mesh.issuer.token("ada", ("*",), audience=NAMESPACE))
        key: SigningKey = fields.pop("key", mesh.issuer.executor_key())
        now_ms = int(time.time() * 1000)
        self.call = CallFields.of(
            **{
                "invocation": "call-1",
                "pool": pool,
                "tool": "ask",
                "deadline_ms": now_ms + 60_000,
                "required_scopes": (),
                "agent": "",
                "body": b"{}",
                "token": self.token,
                **fields,
            }
        )
        self.headers = InvocationHeaders(
            invocation=self.call.invocation,
            tool=self.call.tool,
            deadline_ms=self.call.deadline_ms,
            required_scopes=self.call.required_scopes,
            token=self.token,
            signature=sign_call(self.call, key),
        )

    async def ask(
        self, broker: Broker, pool: str = POOL, *, about: str = "call-1", body: bytes = b"{}", **changed: Any
    ) -> ModelReply:
        """Send a question with these headers, some of them changed."""
        answer = await broker.request(
            broker.subjects.model(pool), self.question(about), 30, self.sent_headers(body, **changed)
        )
        return decode(ModelReply, answer.body)

    def question(self, about: str = "call-1") -> bytes:
        """Return the body of a request."""
        return encode(
            ModelRequest(
                invocation=about,
                attempt=1,
                worker="worker-1",
                system_prompt="",
                user_prompt="why?",
                deadline_ms=int((time.time() + 30) * 1000),
            )
        )

    def sent_headers(self, body: bytes = b"{}", **changed: Any) -> dict[str, str]:
        """Return its headers, some of them changed."""
        headers = replace(self.headers, **changed).to_headers(schema_name(ModelRequest))
        return headers | {BODY_SHA256: sha256(body).hexdigest()}


@pytest.mark.requirement("models:proof")
async def test_only_a_signed_running_call_of_its_pool_may_ask(tmp_path: Path) -> None:
    """A worker of the pool can repeat what it was given, and change nothing; one of another pool reaches nothing."""
    strangers = [Worker(POOL, "worker-2"), Worker("other", "worker-3")]
    async with (
        broker_and_client(tmp_path, executors=["executor-1"], strangers=strangers) as mesh,
        scripted_model() as server,
        executor_in_process(mesh, environment(server), agents=AGENTS),
        connect_broker(mesh.server.connection(strangers[0])) as broker,
    ):
        known = Forger(mesh)
        replies = {
            "as signed": await known.ask(broker),
            "agent": await known.ask(broker, agent="careful"),
            "another tool": await known.ask(broker, tool="other"),
            "later": await known.ask(broker, deadline_ms=known.call.deadline_ms + 60_000),
            "another id": await known.ask(broker, invocation="call-2", about="call-2"),
            "another body": await known.ask(broker, body=b"{ }"),
            "about another": await known.ask(broker, about="call-2"),
            "no signature": await known.ask(broker, signature=""),
            "no token": await known.ask(broker, token=""),
            "own key": await Forger(mesh, key=SigningKey.generate()).ask(broker),
            "other pool's": await Forger(mesh, "other").ask(broker),
            "over": await Forger(mesh, deadline_ms=1000).ask(broker),
            "other namespace": await Forger(mesh, token=mesh.issuer.token("ada", (), audience="else")).ask(broker),
        }
        with pytest.raises((BrokerError, TimeoutError)):
            async with connect_broker(mesh.server.connection(strangers[1])) as stranger, asyncio.timeout(3):
                await known.ask(stranger)
        sent = len(server.asked)
    assert replies.pop("as signed").text == "heard why?"
    assert replies.pop("over").code is ErrorCode.DEADLINE_EXCEEDED
    assert {name: (reply.text, reply.code) for name, reply in replies.items()} == dict.fromkeys(
        replies, (None, ErrorCode.AUTHENTICATION_FAILED)
    )
    assert sent == 1


@pytest.mark.requirement("models:bounds")
async def test_stopping_executor_tells_those_that_wait(tmp_path: Path) -> None:
    """It does not stay for a provider's answer."""
    async with asking_mesh(tmp_path) as mesh, scripted_model() as server:
        async with executor_in_process(mesh, environment(server), agents=TESTER):
            await asked(mesh)
            server.script(Turn(stall=True))
            call = await mesh.client.start(CallRequest(tool="ask", arguments={"question": "why?"}))
            async with asyncio.timeout(30):
                while len(server.asked) < 2:
                    await asyncio.sleep(0.02)
        result = await call.result()
    assert said(result)[0].startswith("IPC error -32000: the model refused: the executor is stopping")


class NoProvider(ModelClient):
    """Never answers, and says how many wait for it; closing takes a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.waiting = 0

    async def ask(self, *_question: Any, **_options: Any) -> ModelAnswer:
        """Wait for ever."""
        self.asked += 1
        self.waiting += 1
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            self.waiting -= 1
        raise AssertionError


@pytest.mark.requirement("models:bounds")
async def test_stopping_executor_begins_no_question_and_leaves_none_behind(tmp_path: Path) -> None:
    """One that comes while it stops is refused as retryable, and those that were asked have ended when it has."""
    strangers = [Worker(POOL, "worker-2")]
    client = NoProvider()
    async with (
        broker_and_client(tmp_path, executors=["executor-1"], strangers=strangers) as mesh,
        connect_broker(mesh.server.connection(Executor("executor-1"))) as executor,
        connect_broker(mesh.server.connection(strangers[0])) as worker,
    ):
        key = mesh.issuer.executor_key()
        models = ToolModels(
            verifier=CallVerifier(
                namespace=NAMESPACE,
                issuer=mesh.issuer.name,
                issuer_keys=mesh.issuer.issuer_public_keys(),
                executor_keys=key.verifying,
            ),
            choice=ModelChoice({}, "openai/x"),
            endpoints=Endpoints({}, {"OPENAI_API_KEY": KEY}),
            client=client,
            limits=ToolModelLimits(),
            on_answered=lambda *_: None,
        )
        async with models.answering(executor, [POOL]):
            first = asyncio.create_task(Forger(mesh, key=key).ask(worker))
            async with asyncio.timeout(30):
                while not client.waiting:
                    await asyncio.sleep(0.02)
        left = client.waiting
        replies = [await first]
        heard: list[bytes] = []
        late = Forger(mesh, key=key)

        async def respond(body: bytes) -> None:
            heard.append(body)

        await models._handler(POOL)(Message("", late.question(), late.sent_headers(), respond))
        replies.append(decode(ModelReply, heard[0]))
    assert [(one.code, one.retryable) for one in replies] == [(ErrorCode.MODEL_UNAVAILABLE, True)] * 2
    assert (left, client.asked) == (0, 1)
