"""Who has which call, from the journals as they grow."""

from collections.abc import Mapping
from pathlib import Path

from tests.load.chaos.journal import JournalReader

from toolmesh_contracts.call_steps import EXECUTOR_STEPS, CallStep

__all__ = ["Sightings"]


class Sightings:
    """What the director knows of calls while the run goes on.

    Args:
        journals: Each program's journal, by the program's name.
    """

    def __init__(self, journals: Mapping[str, Path]) -> None:
        self._readers = {name: JournalReader(path) for name, path in journals.items()}
        self._executors: dict[str, str] = {}
        self._workers: dict[str, str] = {}
        self._deadlines: dict[str, float] = {}
        self._accepted: set[str] = set()
        self.ended: set[str] = set()
        self.succeeded = 0

    def executor_of(self, call: str) -> str | None:
        """Return who made a call."""
        self.look()
        return self._executors.get(call)

    def worker_of(self, call: str) -> str | None:
        """Return which worker had a call last."""
        self.look()
        return self._workers.get(call)

    @property
    def accepted(self) -> int:
        """How many calls are known to be accepted."""
        return len(self._accepted)

    def undecided(self) -> dict[str, float]:
        """Return accepted calls without a result in a journal, with their deadlines."""
        return {call: self._deadlines[call] for call in self._accepted - self.ended if call in self._deadlines}

    def look(self) -> None:
        """Read what is new."""
        for name, reader in self._readers.items():
            for line in reader.news():
                match line["event"]:
                    case "offered":
                        self._executors[line["call"]] = name
                        self._deadlines[line["call"]] = line["deadline"]
                    case "accepted":
                        self._accepted.add(line["call"])
                    case "result":
                        self._accepted.add(line["call"])
                        self.succeeded += line["outcome"] == "ok" and line["call"] not in self.ended
                        self.ended.add(line["call"])
                    case "step" if line["step"] not in EXECUTOR_STEPS and line["step"] != CallStep.PULLED:
                        self._workers[line["call"]] = name
