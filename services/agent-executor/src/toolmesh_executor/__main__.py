"""`python -m toolmesh_executor CONFIG.yaml`: one executor, until SIGTERM or SIGINT."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.executor_config import load_executor_config
from toolmesh_executor.app import run_executor
from toolmesh_identity.errors import IdentityError
from toolmesh_telemetry.health_server import HealthServerError
from toolmesh_telemetry.logs import configure_logging
from toolmesh_telemetry.redaction import Redactor

_USAGE: Final = 2
_UNREACHABLE: Final = 3


def main() -> int:
    """Run the executor that the file given as the only argument describes; return the exit code.

    0 stopped as asked, 2 usage or configuration, 3 the broker is unreachable.
    """
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python -m toolmesh_executor CONFIG.yaml\n")
        return _USAGE
    path = Path(sys.argv[1])
    redactor = Redactor()
    try:
        config = load_executor_config(path, os.environ).model
        configure_logging("agent-executor", config.executor_id, redactor=redactor, level=config.log_level.upper())
        asyncio.run(run_executor(config, path.absolute().parent, os.environ, redactor))
    except (ToolmeshError, IdentityError, HealthServerError) as error:
        sys.stderr.write(f"error [{error.code}]: {error}\n")
        return _UNREACHABLE if error.code == ErrorCode.BROKER_UNREACHABLE else _USAGE
    return 0


if __name__ == "__main__":
    sys.exit(main())
