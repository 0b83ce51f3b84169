"""How identities are divided into NATS accounts, so that permissions hold against a hostile identity; pure data.

Permissions alone don't. The server checks the subject that a client publishes to, but not the reply subject that it
names, and JetStream answers with the server's own rights: a worker that may read one key of its own could have its
value sent to `$JS.API.STREAM.DELETE.<any stream>`, or to the replies of another pool. A reply subject exists only in
the sender's account, so whoever is not the provisioner lives in an account without streams, that imports from the
others just the requests that `permissions` lists.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from toolmesh_broker.identities import EXECUTOR_ACCOUNT, OPERATOR_ACCOUNT, STREAM_ACCOUNT, Identity, pool_account
from toolmesh_broker.permissions import Request, executor_requests, operator_requests, worker_requests
from toolmesh_contracts.subjects import Subjects

__all__ = ["Account", "Export", "Import", "accounts_for"]


@dataclass(frozen=True, slots=True)
class Export:
    """Requests that other accounts may send into an account."""

    subject: str
    users: tuple[str, ...]
    """Accounts that may send them."""
    many_answers: bool
    """Whether one request may have more than one answer."""


@dataclass(frozen=True, slots=True)
class Import:
    """Requests that an account sends into another one."""

    subject: str
    owner: str


@dataclass(frozen=True, slots=True)
class Account:
    """One account: its identities, and what it offers to and takes from the others."""

    name: str
    identities: tuple[Identity, ...]
    exports: tuple[Export, ...]
    imports: tuple[Import, ...]

    @property
    def holds_streams(self) -> bool:
        """Whether this is the account of all streams and buckets."""
        return self.name == STREAM_ACCOUNT


def accounts_for(identities: Iterable[Identity], subjects: Subjects, pools: Iterable[str]) -> tuple[Account, ...]:
    """Return all accounts of a broker that serves `pools`, with `identities` in their places.

    Raises:
        ValueError: a worker's pool is not among `pools`.
    """
    members = tuple(identities)
    served = sorted(set(pools))
    requests = {
        STREAM_ACCOUNT: (),
        EXECUTOR_ACCOUNT: executor_requests(subjects, served),
        OPERATOR_ACCOUNT: operator_requests(subjects, served),
        **{pool_account(pool): worker_requests(subjects, pool) for pool in served},
    }
    if homeless := [one.name for one in members if one.account not in requests]:
        raise ValueError(f"the pools {', '.join(served)} are served, not those of {', '.join(homeless)}")
    users: dict[tuple[str, str, bool], list[str]] = {}
    for user, sent in requests.items():
        for one in _elsewhere(sent, user):
            users.setdefault((one.owner, one.subject, one.many_answers), []).append(user)
    return tuple(
        Account(
            name,
            tuple(one for one in members if one.account == name),
            tuple(Export(subject, tuple(by), many) for (owner, subject, many), by in users.items() if owner == name),
            tuple(Import(one.subject, one.owner) for one in _elsewhere(sent, name)),
        )
        for name, sent in requests.items()
    )


def _elsewhere(requests: Iterable[Request], account: str) -> Iterable[Request]:
    """Return those that leave an account; its members reach one another without an import."""
    return (one for one in requests if one.owner != account)
