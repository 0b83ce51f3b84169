"""`python -m tests.load.chaos --seconds N [--nodes N] [--seed S]`: breaks a mesh of real processes at every step of a call.

Its seed is printed first. The last line is `chaos: accepted=A succeeded=S failed=F lost=L doubled=D`; the exit code is 1
when any promise did not hold. The report is in build/chaos.
"""

import argparse
import asyncio
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.load.chaos.coverage import Coverage, Dies
from tests.load.chaos.director import direct
from tests.load.chaos.figures import figures_of, summary
from tests.load.chaos.report import write_report
from tests.load.chaos.stage import Cast, staged
from tests.load.chaos.verdicts import Verdict, judge
from tests.load.chaos.workload import TOOLS
from tests.support.python_commands import ROOT

from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_contracts.call_steps import CallStep

_REPORT = ROOT / "build" / "chaos"
_SHOWN = 20


async def run(cast: Cast, seconds: float, seed: int, folder: Path) -> tuple[Verdict, dict[str, Any]]:
    """Do one run and write its report; return the judgement and the figures."""
    async with staged(cast, seed) as stage:
        ending = await direct(stage, seconds, seed)
    within_s = 2 * LayoutSettings.on_servers(cast.nodes).ack_wait_s
    verdict = judge(ending.history, TOOLS, within_s)
    asked = {"seed": seed, "seconds": seconds, **msgspec.to_builtins(cast)}
    figures = figures_of(ending.history, ending.coverage, verdict, settle_s=ending.settle_s, asked=asked)
    write_report(folder, ending.history, figures)
    for line in _told(verdict, ending.coverage, figures, within_s):
        print(line)
    return verdict, figures


def _told(verdict: Verdict, coverage: Coverage, figures: dict[str, Any], within_s: float) -> Iterator[str]:
    width = max(len(step) for step in CallStep)
    yield f"{'stops at':{width}}  {Dies.WORKER:>12}  {Dies.EXECUTOR:>13}"
    for step in CallStep:
        yield f"{step:{width}}  {coverage.hits[step, Dies.WORKER]:12}  {coverage.hits[step, Dies.EXECUTOR]:13}"
    yield "faults: " + ", ".join(f"{kind} {count}" for kind, count in figures["faults by kind"].items())
    yield "failed: " + (", ".join(f"{code} {count}" for code, count in verdict.failed.most_common()) or "none")
    yield "endings in: " + ", ".join(f"{where} {count}" for where, count in verdict.where.most_common())
    yield f"calls whose executor has one result and the broker a later one: {verdict.beside}"
    times = figures["calls of killed workers"]
    yield (
        f"calls of killed workers: {times['all']}, {verdict.times.within(within_s)} decided within {within_s:g} s; "
        f"with broker, network and executor whole all {times['undisturbed']} within {times['longest s']} s, "
        f"95 % within {times['95 % within s']} s"
    )
    for violation in verdict.violations[:_SHOWN]:
        yield f"{violation.kind}: {violation.call} {violation.text}"
    if len(verdict.violations) > _SHOWN:
        yield f"... and {len(verdict.violations) - _SHOWN} more violations"


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 3))
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--report", type=Path, default=_REPORT, help="folder of the report")
    parser.add_argument(
        "--worker", default=Cast.worker_program, help="module of the worker, such as one that is broken"
    )
    asked = parser.parse_args()
    seed = secrets.randbelow(2**31) if asked.seed is None else asked.seed
    print(f"chaos: seed {seed}", flush=True)
    cast = Cast(nodes=asked.nodes, worker_program=asked.worker)
    verdict, _ = asyncio.run(run(cast, asked.seconds, seed, asked.report))
    print(f"report: {asked.report / 'chaos.html'}")
    print(summary(verdict), flush=True)
    return 1 if verdict.violations else 0


if __name__ == "__main__":
    sys.exit(main())
