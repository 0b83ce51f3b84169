"""Which profiles were proved to hold under an open backend; those that come later are proved before they are used."""

from collections.abc import Iterable
from pathlib import Path

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.diagnosis import explain
from toolmesh_sandbox.errors import PolicyRefusedError, SandboxError
from toolmesh_sandbox.profiles import profile
from toolmesh_sandbox.proof import SetupFailedError, broken, prove_each


class ProfileProofs:
    """Attacks each profile until it held once; one that did not hold is attacked again when it is asked for again."""

    def __init__(self, backend: Backend, base: Path) -> None:
        self._backend = backend
        self._base = base
        self._held = {report.profile for report in backend.proofs if not report.broken}

    async def failures(self, names: Iterable[str]) -> dict[str, SandboxError]:
        """Why profiles can't be used here, by name; those that hold are not among them. Attacks them side by side.

        Raises:
            PolicyInvalidError: an unknown profile name.
        """
        failures: dict[str, SandboxError] = {}
        new = []
        for policy in [profile(name) for name in sorted(set(names) - self._held)]:
            try:
                self._backend.check(policy)
                new.append(policy)
            except PolicyRefusedError as error:
                failures[policy.profile] = error
        for name, result in (await prove_each(self._backend, new, self._base)).items() if new else ():
            if isinstance(result, SetupFailedError):
                failures[name] = explain(name, result.message)
            elif isinstance(result, SandboxError):
                failures[name] = result
            elif unheld := broken([result]):
                failures[name] = unheld
            else:
                self._held.add(name)
        return failures
