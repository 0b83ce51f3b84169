"""Executors with agents whose model is scripted, on a real broker; their tools are functions of the test."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from tests.support.brokers import NAMESPACE, jetstream_settings, provisioned_jetstream
from tests.support.executor_process import spawned_executor
from tests.support.nats_server import NatsServerProcess, nats_server
from tests.support.scripted_worker import Behaviour as Tool
from tests.support.scripted_worker import ScriptedWorker, scripted_worker
from tests.support.tool_client import client_settings

from toolmesh_broker.heartbeats import read_heartbeats
from toolmesh_broker.jetstream.broker import JetStreamBroker, connect
from toolmesh_client import Client, client_over
from toolmesh_contracts.executor_config import ExecutorConfig
from toolmesh_executor.app import Executor, running_executor
from toolmesh_executor.loop.records import Record
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.tasks.client import TaskClient
from toolmesh_executor.tasks.events import ReadEvent
from toolmesh_identity.development import ISSUER_NAME, DevelopmentIssuer
from toolmesh_scripted_model import Behaviour, Question, Said, ScriptedModel, Turn, scripted_model
from toolmesh_telemetry.redaction import Redactor

__all__ = ["TaskMesh", "calls", "says", "task_mesh", "tells_results"]

_MODEL_VARIABLES = {"OPENAI_API_KEY": "k"}


def says(text: str) -> Turn:
    """The model answers."""
    return Turn(said=Said(text=text))


def calls(*calls: tuple[str, str]) -> Turn:
    """The model calls tools."""
    return Turn(said=Said(tool_calls=calls))


def tells_results(asked: Question) -> Turn:
    """Call the tools that the text names, one a line, then tell what came of them."""
    if asked.results:
        return says(" | ".join(asked.results))
    wanted = [line.partition(" ") for line in asked.user.splitlines()]
    if any(name in asked.tools for name, _, _ in wanted):
        return calls(*((name, arguments or "{}") for name, _, arguments in wanted))
    return says(f"you said {asked.user}")


@dataclass
class TaskMesh:
    """What runs, and who asks."""

    server: NatsServerProcess
    broker: JetStreamBroker
    client: Client
    tasks: TaskClient
    model: ScriptedModel
    worker: ScriptedWorker
    issuer: DevelopmentIssuer
    folder: Path
    events: dict[str, list[ReadEvent]] = field(default_factory=dict)

    def token(self, user: str = "ada", scopes: Sequence[str] = ("*",), ttl_s: int = 3600) -> str:
        """Who asks."""
        return self.issuer.token(user, tuple(scopes), audience=NAMESPACE, ttl_s=ttl_s)

    def document(self, executor: str, agents: Mapping[str, Mapping[str, Any]], **changes: Any) -> dict[str, Any]:
        """The configuration of an executor, with an agent file written for it."""
        path = self.folder / f"{executor}.agents.yaml"
        model = {"model": "openai/small", "api_base": self.model.openai_url, "api_key": "k"}
        path.write_text(
            yaml.safe_dump({"agents": [{"name": name, "model": model, **keys} for name, keys in agents.items()]})
        )
        return {
            "namespace": NAMESPACE,
            "executor_id": executor,
            "broker": {"url": self.server.url},
            "agents": [str(path)],
            "keys": {
                "signing": str(self.issuer.executor_key_file),
                "issuer": str(self.issuer.issuer_public_file),
                "issuer_name": ISSUER_NAME,
                "sealing": {"default": str(self.issuer.sealing_public_file("default"))},
            },
            "health": {"port": 0},
            **changes,
        }

    @asynccontextmanager
    async def executor(
        self, agents: Mapping[str, Mapping[str, Any]], name: str = "executor-1", **changes: Any
    ) -> AsyncIterator[Executor]:
        """Run an executor in this process."""
        config = ExecutorConfig.model_validate(self.document(name, agents, **changes))
        async with running_executor(config, self.folder, _MODEL_VARIABLES, Redactor()) as executor:
            await self.until_known(agents)
            yield executor

    @asynccontextmanager
    async def executor_process(
        self, agents: Mapping[str, Mapping[str, Any]], name: str
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run an executor as a process that may be killed."""
        config, log = self.folder / f"{name}.yaml", self.folder / f"{name}.log"
        config.write_text(yaml.safe_dump(self.document(name, agents)))
        async with spawned_executor(config, log, {"PATH": "/usr/bin:/bin", **_MODEL_VARIABLES}) as process:
            yield process

    async def until_known(self, agents: Mapping[str, object]) -> None:
        """Wait until the mesh knows these agents, and every executor has its tools in view."""
        async with asyncio.timeout(10):
            while not set(agents) <= {one.name for beat in await read_heartbeats(self.broker) for one in beat.agents}:
                await asyncio.sleep(0.02)

    async def ask(self, agent: str, text: str, *, timeout_s: float = 0, **more: Any) -> str:
        """Give an agent a task and return its id."""
        deadline_ms = int((time.time() + timeout_s) * 1000) if timeout_s else 0
        token = more.pop("token", None) or self.token()
        return await self.tasks.start(agent, text, token, deadline_ms=deadline_ms, **more)

    async def followed(self, task: str, until: str = "") -> TaskState:
        """Follow a task until it has ended, or a record of the kind `until` came; its numbers have no gap."""
        state, following = TaskState(), self.tasks.follow(task)
        seen = self.events[task] = []
        async with asyncio.timeout(30):
            async for event in following:
                seen.append(event)
                assert event.number == len(seen), f"a gap before {event}"
                state = state.after(event.record)
                if event.record.__struct_config__.tag == until:
                    break
        await following.aclose()
        return state

    async def answered(self, agent: str, text: str, **more: Any) -> TaskState:
        """Ask, and follow to the end."""
        return await self.followed(await self.ask(agent, text, **more))

    def records(self, task: str) -> list[Record]:
        """What `followed` saw."""
        return [event.record for event in self.events[task]]


@asynccontextmanager
async def task_mesh(
    folder: Path, tools: Mapping[str, Tool], behaviour: Behaviour = tells_results
) -> AsyncIterator[TaskMesh]:
    """Run a broker, a worker with these tools and a model; executors come by `TaskMesh.executor`."""
    settings = client_settings(folder, executor="asker")
    async with (
        nats_server(folder) as server,
        provisioned_jetstream(server),
        connect(jetstream_settings(server, "worker")) as worker_broker,
        scripted_worker(worker_broker, tools, slots=50) as worker,
        scripted_model(behaviour) as model,
        connect(jetstream_settings(server, settings.connection.identity)) as broker,
        client_over(broker, settings) as client,
    ):
        issuer = DevelopmentIssuer.create_or_load(folder / "keys")
        yield TaskMesh(server, broker, client, TaskClient(broker, client), model, worker, issuer, folder)
