"""`python -m tests.load.agent_chaos --seconds N`: breaks executors and workers under tasks, and tells what it found.

Two executors and two workers, one of which is stopped or killed every few seconds; as many tasks as `--tasks` says are
under way at any time. Ends with 1 if a task did not finish, an effect happened twice or is missing without a word, or
the numbers of a task's events have a gap.
"""

import argparse
import asyncio
import contextlib
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from tests.load.agent_chaos.account import Account
from tests.load.agent_chaos.lives import Lives, executor_life, worker_life
from tests.load.agent_chaos.script import AGENTS, agent_of, rule
from tests.support.effects import effects
from tests.support.worker_mesh import NAMESPACE, WorkerMesh, broker_and_client

from toolmesh_broker.identities import Executor
from toolmesh_broker.jetstream.broker import connect
from toolmesh_contracts.envelopes.task import Answer, Task
from toolmesh_contracts.ids import new_uuid7
from toolmesh_executor.loop.records import QuestionAsked, ToolStarted
from toolmesh_executor.tasks.client import TaskClient
from toolmesh_executor.tasks.errors import TaskError
from toolmesh_executor.tasks.events import ReadEvent
from toolmesh_executor.tasks.sending import TaskSender
from toolmesh_scripted_model import ScriptedModel, scripted_model

EXECUTORS: Final = ("executor-1", "executor-2")
WORKERS: Final = ("worker-1", "worker-2")
_LAST_S: Final = 240.0
"""For what is under way when the breaking ends."""


class Askers:
    """Keep a number of tasks under way."""

    def __init__(self, mesh: WorkerMesh, tasks: TaskClient, sender: TaskSender, account: Account) -> None:
        self._mesh = mesh
        self._tasks = tasks
        self._sender = sender
        self._account = account
        self._numbers: Iterator[int] = itertools.count(1)
        self.over = asyncio.Event()

    async def ask_on(self) -> None:
        """Ask one task after the other until it is over."""
        while not self.over.is_set():
            await self._ask(str(next(self._numbers)))

    async def _ask(self, name: str) -> None:
        token = self._mesh.issuer.token(f"user-{int(name) % 20}", ("*",), audience=NAMESPACE)
        task = new_uuid7()
        await self._sender.start(Task(id=task, agent=agent_of(name), text=name), token)
        events = await self._events(task, token)
        peers = [one.record.peer for one in events if isinstance(one.record, ToolStarted) and one.record.peer]
        self._account.take(name, events, [await self._events(peer.task, token) for peer in peers])

    async def _events(self, task: str, token: str) -> list[ReadEvent]:
        """Return all events of a task once it has ended; agree to whatever it asks on the way."""
        events = []
        async for event in self._tasks.follow(task):
            events.append(event)
            if isinstance(event.record, QuestionAsked):
                with contextlib.suppress(TaskError):
                    await self._tasks.answer(task, Answer(call=event.record.call, approved=True), token)
        return events


def agent_file(folder: Path, model: ScriptedModel) -> Path:
    """Write the agents."""
    settings = {"model": "openai/small", "api_base": model.openai_url, "api_key": "k"}
    effect: dict[str, Any] = {"tool_type": "builtin", "tool_name": "effect"}
    asking = {**effect, "hil": {"require_approval": True}}
    talk = {"request_timeout_seconds": 300}
    agents = [
        {
            "name": name,
            "model": settings,
            "tools": [asking if name == AGENTS[-1] else effect],
            "inter_agent_communication": talk,
        }
        for name in AGENTS
    ]
    path = folder / "agents.yaml"
    path.write_text(yaml.safe_dump({"agents": agents}))
    return path


async def campaign(seconds: float, at_once: int, seed: int) -> tuple[Account, Lives, float]:
    """Run it; return what became of the tasks, the blows, and the seconds that the last tasks took."""
    account = Account()
    with effects() as made, tempfile.TemporaryDirectory(prefix="toolmesh-agent-chaos-") as name:
        folder = Path(name)
        async with (
            scripted_model(lambda asked: rule(asked, made)) as model,
            broker_and_client(folder, workers=WORKERS, executors=(*EXECUTORS, "asker")) as mesh,
            connect(mesh.server.connection(Executor("asker"))) as broker,
        ):
            agents = agent_file(folder, model)
            lives = Lives(
                {
                    **{one: worker_life(mesh, one, made) for one in WORKERS},
                    **{one: executor_life(mesh, one, agents) for one in EXECUTORS},
                },
                seed,
            )
            askers = Askers(mesh, TaskClient(broker, mesh.client), TaskSender(broker.tasks()), account)
            async with lives.running(), asyncio.TaskGroup() as group:
                asking = [group.create_task(askers.ask_on()) for _ in range(at_once)]
                striking = group.create_task(lives.strike())
                await asyncio.sleep(seconds)
                striking.cancel()
                askers.over.set()
                ended_at = time.monotonic()
                _, late = await asyncio.wait(asking, timeout=_LAST_S)
                account.problems += [f"{len(late)} tasks did not end within {_LAST_S:.0f} s"] if late else []
                for each in late:
                    each.cancel()
                took_s = time.monotonic() - ended_at
        account.hold_against(made.happened())
    return account, lives, took_s


def main() -> int:
    """Run and tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}: {options.tasks} tasks at a time for {options.seconds:.0f} s", flush=True)
    account, lives, took_s = asyncio.run(campaign(options.seconds, options.tasks, options.seed))
    for blow, times in sorted(lives.ended.items()):
        print(f"{times:5} {blow}")
    print(
        f"effects: {account.effects}, outcomes told as unknown: {account.unknown}; the last tasks took {took_s:.1f} s"
    )
    for problem in account.problems[:20]:
        print(f"problem: {problem}")
    print(
        f"chaos-agents: tasks={account.tasks} finished={account.finished} "
        f"doubled={account.doubled_effects} gaps={account.gaps}"
    )
    return 1 if account.problems or account.tasks != account.finished else 0


if __name__ == "__main__":
    sys.exit(main())
