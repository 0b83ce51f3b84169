"""The table of permissions and accounts as data."""

import itertools

import pytest

from toolmesh_broker.accounts import accounts_for
from toolmesh_broker.identities import (
    EXECUTOR_ACCOUNT,
    OPERATOR_ACCOUNT,
    STREAM_ACCOUNT,
    Executor,
    Identity,
    Operator,
    Provisioner,
    Worker,
)
from toolmesh_broker.permissions import permissions_for
from toolmesh_contracts.errors import InvalidNameError
from toolmesh_contracts.subjects import Subjects

SUBJECTS = Subjects("team_a")
POOLS = ("alpha", "beta")
WORKER = Worker("alpha", "w1")


def matches(pattern: str, subject: str) -> bool:
    """NATS' own rule: `*` is one token, `>` is one or more at the end."""
    for wanted, found in itertools.zip_longest(pattern.split("."), subject.split(".")):
        if wanted == ">":
            return found is not None
        if found is None or wanted not in ("*", found):
            return False
    return True


@pytest.mark.parametrize("identity", [Provisioner(), Executor("one"), Operator(), WORKER], ids=lambda one: one.name)
def test_no_identity_may_listen_to_everything_or_to_the_system(identity: Identity) -> None:
    """Every subscription is below the namespace or the identity's own inbox."""
    allowed = permissions_for(identity, SUBJECTS, POOLS)
    own_inbox = f"_INBOX.team_a.{identity.name}.>"
    assert own_inbox in allowed.subscribe
    assert all(one.startswith("tm.team_a.") or one == own_inbox for one in allowed.subscribe)
    for forbidden in ("$SYS.REQ.SERVER.PING", "_INBOX.team_a.other.x", "tm.other.invoke.alpha.normal.1.t"):
        assert not any(matches(one, forbidden) for one in allowed.publish)


def test_a_worker_names_no_pool_but_its_own() -> None:
    """Nothing in a worker's list depends on, or reaches, another pool."""
    allowed = permissions_for(WORKER, SUBJECTS, POOLS)
    assert allowed == permissions_for(WORKER, SUBJECTS, ("alpha", "gamma"))
    everything = allowed.publish + allowed.subscribe
    assert not any("beta" in one for one in everything)
    assert not any(matches(one, SUBJECTS.reply("beta", "one", "call")) for one in allowed.publish)


def test_a_worker_may_not_invoke_nor_touch_its_own_queues_configuration() -> None:
    """Of its queue a worker has pulls and acknowledgements, and can't take a call out without either."""
    allowed = permissions_for(WORKER, SUBJECTS, POOLS).publish
    queue = SUBJECTS.invoke_stream("alpha")
    assert [one for one in allowed if queue in one] == [
        f"$JS.API.CONSUMER.MSG.NEXT.{queue}.*",
        f"$JS.ACK.{queue}.>",
    ]
    assert not any(".invoke." in one for one in allowed)


def test_an_operator_reaches_dead_letters_and_nothing_else() -> None:
    """It reads and removes them, and can neither write one nor call a tool."""
    allowed = permissions_for(Operator(), SUBJECTS, POOLS)
    streams = [SUBJECTS.dead_stream(pool) for pool in POOLS]
    assert set(allowed.publish) == {
        "$JS.API.INFO",
        *(f"$JS.API.DIRECT.GET.{stream}" for stream in streams),
        *(f"$JS.API.STREAM.MSG.DELETE.{stream}" for stream in streams),
    }


def test_only_the_provisioner_shares_an_account_with_the_streams() -> None:
    """All others reach JetStream through imports, so that no reply subject of theirs is one of its own."""
    identities = (Provisioner(), Executor("one"), Operator(), WORKER, Worker("beta", "w1"))
    accounts = {account.name: account for account in accounts_for(identities, SUBJECTS, POOLS)}
    assert list(accounts) == [STREAM_ACCOUNT, EXECUTOR_ACCOUNT, OPERATOR_ACCOUNT, "POOL-alpha", "POOL-beta"]
    assert [name for name, account in accounts.items() if account.holds_streams] == [STREAM_ACCOUNT]
    assert accounts[STREAM_ACCOUNT].identities == (Provisioner(),)
    assert accounts[STREAM_ACCOUNT].imports == ()
    assert accounts["POOL-alpha"].identities == (WORKER,)


def test_every_import_has_exactly_one_export_that_lets_it_in() -> None:
    """What one account takes is offered by its owner to that account, under the same subject."""
    accounts = accounts_for((), SUBJECTS, POOLS)
    offered = {(account.name, export.subject): export for account in accounts for export in account.exports}
    assert len(offered) == sum(len(account.exports) for account in accounts)
    taken = [(account.name, one) for account in accounts for one in account.imports]
    assert {(one.owner, one.subject) for _, one in taken} == set(offered)
    assert all(user in offered[one.owner, one.subject].users for user, one in taken)
    assert sum(len(export.users) for export in offered.values()) == len(taken)


@pytest.mark.parametrize("identity", [Executor("one"), Operator(), WORKER], ids=lambda one: one.name)
def test_whatever_an_identity_may_publish_its_account_imports(identity: Identity) -> None:
    """A permission without its import would be a dead letter, but for what stays in the account."""
    account = next(one for one in accounts_for((), SUBJECTS, POOLS) if one.name == identity.account)
    imported = [
        *(one.subject for one in account.imports),
        *([SUBJECTS.stops()] if identity.account == EXECUTOR_ACCOUNT else []),
    ]
    for subject in permissions_for(identity, SUBJECTS, POOLS).publish:
        assert any(matches(one, subject) for one in imported), subject


def test_only_pulls_and_reads_of_events_have_many_answers() -> None:
    """The server keeps the way back for a request with many answers longer, so that kind is rare."""
    accounts = accounts_for((), SUBJECTS, POOLS)
    many = {export.subject for account in accounts for export in account.exports if export.many_answers}
    events = f"$JS.API.DIRECT.GET.{SUBJECTS.event_stream()}"
    assert all(subject == events or subject.startswith("$JS.API.CONSUMER.MSG.NEXT.") for subject in many)


def test_a_worker_of_an_unserved_pool_is_an_error() -> None:
    """It would otherwise be left out without a word."""
    with pytest.raises(ValueError, match="worker__gamma__w1"):
        accounts_for((Worker("gamma", "w1"),), SUBJECTS, POOLS)


def test_two_identities_never_share_an_inbox() -> None:
    """Names that could run together when joined stay apart, also when they are cut to the longest allowed."""
    long = "p" * 64
    identities: list[Identity] = [
        Provisioner(),
        Operator(),
        Executor("provisioner"),
        Executor("operator"),
        Executor("a_b"),
        Executor("a__b"),
        Worker("a", "b_c"),
        Worker("a_b", "c"),
        Worker("a-b", "c"),
        Worker(long, "w" * 95 + "1"),
        Worker(long, "w" * 95 + "2"),
    ]
    prefixes = [SUBJECTS.inbox_prefix(one.name) for one in identities]
    assert len(set(prefixes)) == len(identities)


@pytest.mark.parametrize("name", ["", "a.b", "a b", "*", ">", "ä"])
def test_a_name_that_would_widen_a_subject_is_refused(name: str) -> None:
    """Dots and wildcards never get into a permission."""
    with pytest.raises(InvalidNameError):
        Executor(name)
    with pytest.raises(InvalidNameError):
        Worker("alpha", name)
    with pytest.raises(InvalidNameError):
        Worker(name, "w1")
