"""What the self-test found out, as data."""

import dataclasses
from typing import Any

from toolmesh_sandbox.ladder import Level


@dataclasses.dataclass(frozen=True, kw_only=True)
class Promise:
    """One thing that a profile promises, and whether it held when it was attacked.

    Attributes:
        name: the promise.
        held: nothing was found wrong.
        found: what was found wrong, or by which means it holds; may be empty.
        missing: kernel or container option that would make it hold; empty when it held.
    """

    name: str
    held: bool
    found: str = ""
    missing: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProfileReport:
    """The promises of one profile."""

    profile: str
    promises: tuple[Promise, ...]

    @property
    def broken(self) -> tuple[Promise, ...]:
        """Those that did not hold."""
        return tuple(promise for promise in self.promises if not promise.held)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelfTestReport:
    """What this machine gives under the settings of one worker.

    Attributes:
        mode: the mode that was asked for.
        level: the level that works here, None when nothing could be started.
        floor: the lowest level that the operator accepts.
        program: the bubblewrap in use, with its version; empty when there is none.
        memory: by what the memory of a call is bounded: `cgroup`, `watcher` or `nothing`.
        profiles: what each profile promises.
        error: why nothing could be started; empty otherwise.
        missing: what is missing for that, by name.
        hint: what to do about it.
    """

    mode: str
    level: Level | None
    floor: Level
    program: str = ""
    memory: str = ""
    profiles: tuple[ProfileReport, ...] = ()
    error: str = ""
    missing: str = ""
    hint: str = ""

    @property
    def ok(self) -> bool:
        """Whether a worker with these settings would start."""
        return not self.error and not any(profile.broken for profile in self.profiles)

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        data = dataclasses.asdict(self)
        data |= {"ok": self.ok, "floor": self.floor.name, "level": None if self.level is None else self.level.name}
        return data

    def lines(self) -> list[str]:
        """The report for people, a line for each promise."""
        if self.error:
            said = [f"sandbox mode {self.mode}: refused", f"  {self.error}"]
            said += [f"  missing: {self.missing}"] if self.missing else []
            return said + ([f"  to do: {self.hint}"] if self.hint else [])
        level = "?" if self.level is None else _explained(self.level)
        said = [f"sandbox mode {self.mode}: level {level}"]
        said.append(f"  the higher a level, the less it protects; workers accept at most {_explained(self.floor)}")
        said += [f"  {self.program}"] if self.program else []
        for profile in self.profiles:
            said.append(f"  {profile.profile}:")
            for promise in profile.promises:
                mark = "held" if promise.held else "NOT HELD"
                text = "; missing: ".join(part for part in (promise.found, promise.missing) if part)
                said.append(f"    {promise.name}: {mark}{f' ({text})' if text else ''}")
        return said


def _explained(level: Level) -> str:
    return f"{int(level)}, {level.name}: {level.meaning}"
