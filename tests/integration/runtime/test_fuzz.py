"""A short fuzz run; `make fuzz CASES=10000` is the long one."""

import pytest
from tests.load.fuzz.run import fuzz, report

CASES = 40
SEED = 1


@pytest.mark.timeout(180)
async def test_hostile_tools_and_odd_input_leave_nothing_behind() -> None:
    """Every case is answered, no failure passes for a success, and the worker holds no more than before."""
    findings = await fuzz(CASES, SEED)
    assert findings.sound, "\n".join(report(findings))
    assert findings.cases == CASES
    assert any(label.endswith(": ok") for label in findings.outcomes), "nothing succeeded: the run proves nothing"
