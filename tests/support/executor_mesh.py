"""An executor beside a worker and a client, in this process or as one of its own."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.executor_process import spawned_executor
from tests.support.worker_mesh import NAMESPACE, POOL, WorkerMesh

from toolmesh_broker.identities import Executor as ExecutorIdentity
from toolmesh_contracts.executor_config import ExecutorConfig
from toolmesh_executor.app import Executor, running_executor
from toolmesh_telemetry.redaction import Redactor

EXECUTOR = "executor-1"


def executor_document(mesh: WorkerMesh, *, agents: str = "", **changes: Any) -> dict[str, Any]:
    """The configuration of an executor; `agents` is the text of an agent file."""
    path = mesh.folder / "agents.yaml"
    path.write_text(agents)
    return {
        "namespace": NAMESPACE,
        "executor_id": EXECUTOR,
        "broker": {
            "url": mesh.server.url,
            "nkey_seed_file": str(mesh.server.connection(ExecutorIdentity(EXECUTOR)).nkey_seed_file),
        },
        "agents": [str(path)] if agents else [],
        "keys": {
            "signing": str(mesh.issuer.executor_key_file),
            "issuer": str(mesh.issuer.issuer_public_file),
            "executors": str(mesh.issuer.executor_public_file),
            "sealing": {POOL: str(mesh.issuer.sealing_public_file(POOL))},
        },
        "health": {"port": 0},
        **changes,
    }


@asynccontextmanager
async def executor_in_process(
    mesh: WorkerMesh, environment: Mapping[str, str], *, agents: str = "", **changes: Any
) -> AsyncIterator[Executor]:
    """Run an executor in this process."""
    config = ExecutorConfig.model_validate(executor_document(mesh, agents=agents, **changes))
    async with running_executor(config, mesh.folder, environment, Redactor()) as executor:
        yield executor


@asynccontextmanager
async def executor_process(mesh: WorkerMesh, environment: Mapping[str, str], **changes: Any) -> AsyncIterator[Path]:
    """Run an executor as a process; yields the file that all it says goes to."""
    config, log = mesh.folder / "executor.yaml", mesh.folder / "executor.log"
    config.write_text(json.dumps(executor_document(mesh, **changes)))
    async with spawned_executor(config, log, {"PATH": "/usr/bin:/bin", **environment}) as process:
        yield log
        if process.returncode is None:
            process.terminate()
            await process.wait()
