"""Where the process begins: nothing is imported before Ctrl-C is cared for."""

import sys
from typing import NoReturn

__all__ = ["start"]

_INTERRUPTED = 130  # the table of exit codes is not imported yet


def start() -> NoReturn:
    """Run the command line; Ctrl-C ends it in one line, even while it is still being imported."""
    try:
        from toolmesh_cli.main import main

        main()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("error [CANCELLED]: interrupted\n")
        sys.exit(_INTERRUPTED)
