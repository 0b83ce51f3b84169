"""The real worker as a program of the harness."""

import asyncio
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec
from tests.load.chaos.held_process import StepHolder
from tests.load.chaos.journal import Journal, JournalReader

from toolmesh_contracts.call_steps import CallStep
from toolmesh_contracts.worker_config import load_worker_config
from toolmesh_runtime.app import running_worker
from toolmesh_sandbox.policy import Mount
from toolmesh_sandbox.profiles import PROFILES
from toolmesh_telemetry.logs import configure_logging
from toolmesh_telemetry.redaction import Redactor

__all__ = ["WorkerOrder", "main"]

_EFFECT_S = 20.0
_POLL_S = 0.01


class WorkerOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker program is to do.

    Attributes:
        config: The worker's configuration file.
        journal: Where it notes its steps.
        effects: Folder with the file of effects, which its tools are shown.
    """

    config: str
    journal: str
    effects: str


def _show_effects(folder: Path) -> None:
    """Let tools write into a folder of the host: an effect that neither a sandbox's end nor a cut undoes."""
    PROFILES["standard"] = PROFILES["standard"].with_mounts(Mount(folder, PurePosixPath("/effects"), read_only=False))


async def _run(order: WorkerOrder, control: socket.socket) -> None:
    _show_effects(Path(order.effects))
    journal = Journal(Path(order.journal))
    effects = Path(order.effects) / "effects.log"

    async def happened(step: CallStep, invocation: str) -> bool:
        """A running tool's effect is waited for: without it the step would be as good as the one before."""
        if step is not CallStep.RUNNING:
            return True
        reader = JournalReader(effects)
        with suppress(TimeoutError):
            async with asyncio.timeout(_EFFECT_S):
                while not any(line.startswith(invocation.encode()) for line in reader.lines()):
                    await asyncio.sleep(_POLL_S)
                return True
        return False

    holder = StepHolder(journal, control, happened)
    path = Path(order.config)
    config = load_worker_config(path, os.environ).model
    redactor = Redactor()
    configure_logging(
        "secure-tool-runtime", config.worker_id or "worker", redactor=redactor, level=config.log_level.upper()
    )
    holder.listen()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with running_worker(config, path.parent, redactor, holder.observe) as worker:
        holder.tell("ready")
        await worker.run(stop)


def main(order: Path, control: socket.socket) -> None:
    """Run what the order in a file says until SIGTERM."""
    asyncio.run(_run(msgspec.json.decode(order.read_bytes(), type=WorkerOrder), control))
