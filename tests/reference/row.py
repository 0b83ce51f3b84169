"""One row of a contract that we keep, and the tests that prove it."""

from dataclasses import dataclass

from tests.reference.levels import Level, level_of

__all__ = ["Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row."""

    identifier: str
    """Section and a name, such as `2.4:none`; never changed."""
    outcome: str
    """What is right, in our words."""
    tests: tuple[str, ...] = ()
    """Node ids: `path::test_name` (then each of its parameters) or `path::test_name[parameter]`."""
    lacks: str = ""
    """What toolmesh lacks, as a page of the docs says it: the row has no tests then, and counts as documented."""
    told_in: str = ""
    """The page that holds this reason; given exactly when something lacks."""
    differs: str = ""
    """Why we do otherwise than the contract has it; the tests then prove our outcome."""

    apart: str = ""
    """Why no test takes the row through a worker; given exactly when none does."""

    @property
    def levels(self) -> dict[str, Level]:
        """How far each test goes."""
        return {test: level_of(test) for test in self.tests}

    @property
    def through_worker(self) -> bool:
        """Whether a test runs the tool in a real worker, over a real broker."""
        return Level.WORKER in self.levels.values()

    @property
    def section(self) -> str:
        """The section of the contract."""
        return self.identifier.partition(":")[0]
