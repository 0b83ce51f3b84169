"""Explores the protocol of one call with fresh random examples, and shows that it finds what it is meant to find."""

import logging
import sys

from tests.protocol.machine import (
    Protocol,
    ProtocolWithoutCompareAndSet,
    ProtocolWithoutFencing,
    explore,
    finds_a_violation,
)
from tests.protocol.mesh import PromiseBrokenError

_EXAMPLES = 1000
_MOST_TO_FIND = 500


def main(examples: int) -> int:
    """Print how often a process died at which step, and one line that sums up; 1 if a promise does not hold."""
    logging.disable(logging.CRITICAL)
    try:
        deaths = explore(Protocol, examples, same_each_time=False)
    except PromiseBrokenError as broken:
        print(f"protocol-model: a promise does not hold: {broken}")  # noqa: T201 - a command's output
        return 1
    for step, count in sorted(deaths.items()):
        print(f"{count:6} times {step}")  # noqa: T201
    fencing = finds_a_violation(ProtocolWithoutFencing, _MOST_TO_FIND)
    compared = finds_a_violation(ProtocolWithoutCompareAndSet, _MOST_TO_FIND)
    print(  # noqa: T201
        f"protocol-model: {examples} examples, 0 violations; "
        f"found with fencing off: {_yes(fencing)}; with cas off: {_yes(compared)}"
    )
    return 0 if fencing and compared else 1


def _yes(found: bool) -> str:
    return "yes" if found else "no"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else _EXAMPLES))
