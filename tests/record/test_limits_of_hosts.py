"""A connection's limits with several daemons, on a real PostgreSQL."""

from collections.abc import Sequence

import pytest

from autoscaler.decide import apply_outcome
from autoscaler.model import ConnectionLimits, Decision, ShardName, TargetRef, Written, shard_of
from autoscaler.record import Ledger, Retention
from autoscaler.record.locks import Lock, wait_for
from tests.limits.fleet import limits
from tests.record.conftest import in_threads
from tests.record.hosts import SECONDS, Host, Hosts, configured
from tests.record.samples import FLEET, at, decision, falling, keep, rising, save, scaler
from tests.record.test_epochs_postgresql import until_blocked

pytestmark = pytest.mark.slow
TWO = [ShardName(FLEET, 1, 2), ShardName(FLEET, 2, 2)]
NAMES = [f"s{number}" for number in range(12)]
FOUR = limits(4)


def two(hosts: Hosts) -> tuple[Host, Host]:
    """Return two daemons that hold one shard each."""
    found = hosts.start(), hosts.start()
    for _ in range(3):
        for host in found:
            host.turn(TWO)
    return found


def names_of(host: Host) -> Sequence[str]:
    """Return those of NAMES whose shards it holds."""
    return [name for name in NAMES if shard_of(TargetRef(FLEET, name), 2) in host.leases.held]


def shard(host: Host, limited: ConnectionLimits) -> Ledger:
    """Return the first shard that a daemon holds, with its autoscalers."""
    host.state.follow(Retention(), [scaler(name, name) for name in NAMES])
    ledger = host.ledger(min(host.leases.held))
    ledger.follow([scaler(name, name) for name in names_of(host)], limits=limited)
    return ledger


def intend(ledger: Ledger, made: Decision) -> list[str]:
    """Return the refusal, if any."""
    ledger.recall([scaler(made.name, made.name)])
    return [str(error) for error in ledger.intend([made]).values()]


def removals(ledger: Ledger, seconds: float) -> list[tuple[str, int]]:
    """Return names and instances of the removals."""
    return [(one.name, one.instances) for one in ledger.standing(at(seconds)).removals]


def test_removals_of_a_daemon_that_left_still_count(hosts: Hosts) -> None:
    """The daemon that takes its targets over does not begin with a fresh budget."""
    first, second = two(hosts)
    name = names_of(first)[0]
    ledger = shard(first, FOUR)
    assert intend(ledger, falling(0, name)) == []
    save(ledger, apply_outcome(falling(0, name), Written(2)))
    first.leases.leave()
    for _ in range(3):
        second.turn(TWO)
    ledger = shard(second, FOUR)
    assert removals(ledger, 15) == [(name, 3)]
    assert "of which 1 was left" in intend(ledger, falling(15, name))[0]


def test_removals_of_a_killed_daemon_still_count(hosts: Hosts) -> None:
    """They count before its targets are served again, too."""
    first, second = two(hosts)
    name = names_of(first)[0]
    assert intend(shard(first, FOUR), falling(0, name)) == []
    survivor = shard(second, FOUR)
    for _ in range(2):
        hosts.advance(SECONDS / 2 + 1)
        second.leases.renew()
    assert removals(survivor, 30) == [(name, 3)]
    assert "another shard used the limit first" in intend(survivor, falling(30, names_of(second)[0]))[0]


def test_two_daemons_that_intend_at_the_same_moment_stay_within_the_limits(hosts: Hosts) -> None:
    """Each has seen enough room. One of them is refused, and writes nothing."""
    hosts_of = two(hosts)
    ledgers = [shard(host, limits(4, total=65)) for host in hosts_of]
    for host, ledger in zip(hosts_of, ledgers, strict=True):
        for name in names_of(host):
            keep(ledger, decision(0, name, name))
    for made in (
        [falling(15, names_of(host)[0]) for host in hosts_of],
        [rising(15, 9, names_of(host)[1], names_of(host)[1]) for host in hosts_of],
    ):
        said: list[list[str]] = []
        with hosts.start().state._database.writing() as connection:
            wait_for(connection, Lock.LIMITS, FLEET)
            both = [
                lambda ledger=ledger, one=one, said=said: said.append(intend(ledger, one))
                for ledger, one in zip(ledgers, made, strict=True)
            ]
            racing = in_threads(both)
            raised = racing.__enter__()
            until_blocked(hosts_of[0].state._database, 2)
        racing.__exit__(None, None, None)
        assert raised == []
        assert sorted(map(len, said)) == [0, 1]
    assert sum(instances for _, instances in removals(ledgers[0], 15)) == 3
    standing = ledgers[0].standing(at(15))
    assert sum(standing.sizes.values()) + standing.others == 64


def test_without_a_limit_no_daemon_waits_for_another(hosts: Hosts) -> None:
    """Commits of a connection without limits take no lock of the connection."""
    first, second = two(hosts)
    ledger = shard(first, ConnectionLimits())
    with second.state._database.writing() as connection:
        wait_for(connection, Lock.LIMITS, FLEET)
        assert intend(ledger, falling(0, names_of(first)[0])) == []


def test_each_daemon_knows_the_sizes_that_the_others_set(hosts: Hosts) -> None:
    """It knows the recorded sizes and the intended ones that may still arrive, also after a daemon died."""
    first, second = two(hosts)
    mine, theirs = shard(first, limits(total=400)), shard(second, limits(total=400))
    for name in names_of(second):
        keep(theirs, decision(0, name, name))
    sizes = 5 * len(names_of(second))
    assert mine.standing(at(15)).others == sizes
    name = names_of(second)[0]
    assert intend(theirs, rising(15, 20, name, name)) == []
    assert mine.standing(at(15)).others == sizes + 15
    for _ in range(2):
        hosts.advance(SECONDS / 2 + 1)
        first.leases.renew()
    assert mine.standing(at(30)).others == sizes + 15


def test_an_autoscaler_that_only_another_daemon_has_counts(hosts: Hosts) -> None:
    """A new configuration has reached one host and runs there."""
    first, second = two(hosts)
    mine, theirs = shard(first, limits(total=400)), shard(second, limits(total=400))
    held = second.leases.held
    new = next(name for name in map(str, range(1000)) if shard_of(TargetRef(FLEET, name), 2) in held)
    before = mine.standing(at(15)).others
    keep(theirs, decision(0, new, new))
    assert mine.standing(at(15)).others == before
    second.leases.follow(configured(scaler(new, new)), "newer")
    assert mine.standing(at(15)).others == before + 5
