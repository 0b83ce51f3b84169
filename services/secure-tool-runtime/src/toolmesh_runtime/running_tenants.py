"""How many calls of each tenant run on this worker, so that one can't have all of its slots."""

from collections import Counter

__all__ = ["RunningTenants"]


class RunningTenants:
    """Counts running calls by tenant: one agent on behalf of one user.

    Args:
        most: Calls of one tenant at once; None: as many as there are slots.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._running: Counter[str] = Counter()

    @property
    def capped(self) -> bool:
        """Whether there is a cap at all."""
        return self._most is not None

    def full(self, tenant: str) -> bool:
        """Tell whether a tenant has all that it may have."""
        return self._most is not None and self._running[tenant] >= self._most

    def add(self, tenant: str) -> None:
        """Count a call that starts."""
        self._running[tenant] += 1

    def remove(self, tenant: str) -> None:
        """Count a call that has ended no longer."""
        self._running[tenant] -= 1
        if not self._running[tenant]:
            del self._running[tenant]
