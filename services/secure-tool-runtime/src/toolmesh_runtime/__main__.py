"""`python -m toolmesh_runtime CONFIG.yaml`: one worker, until SIGTERM or SIGINT."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.worker_config import load_worker_config
from toolmesh_identity.errors import IdentityError
from toolmesh_runtime.allocator import give_memory_back
from toolmesh_runtime.app import run_worker
from toolmesh_sandbox.errors import SandboxError
from toolmesh_telemetry.health_server import HealthServerError
from toolmesh_telemetry.logs import configure_logging
from toolmesh_telemetry.redaction import Redactor

_USAGE: Final = 2
_UNREACHABLE: Final = 3


def main() -> int:
    """Run the worker that the file given as the only argument describes; return the exit code.

    0 stopped as asked, 2 usage, configuration or a sandbox that this machine can't give, 3 the broker is unreachable.
    """
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python -m toolmesh_runtime CONFIG.yaml\n")
        return _USAGE
    give_memory_back()
    path = Path(sys.argv[1])
    redactor = Redactor()
    try:
        loaded = load_worker_config(path, os.environ)
        config = loaded.model
        configure_logging(
            "secure-tool-runtime", config.worker_id or "worker", redactor=redactor, level=config.log_level.upper()
        )
        asyncio.run(run_worker(config, path.absolute().parent, redactor))
    except (ToolmeshError, IdentityError, SandboxError, HealthServerError) as error:
        sys.stderr.write(f"error [{error.code}]: {error}\n")
        return _UNREACHABLE if error.code == ErrorCode.BROKER_UNREACHABLE else _USAGE
    return 0


if __name__ == "__main__":
    sys.exit(main())
