"""A connection's limits with several daemons, on a real PostgreSQL."""

from collections.abc import Sequence

import pytest

from autoscaler.decide import conclude
from autoscaler.errors import StateError, TargetUnavailable
from autoscaler.model import ConnectionLimits, Decision, ScaleChange, Share, TargetRef, Written
from autoscaler.record import Ledger, Retention, slot_of
from autoscaler.record.locks import Lock, wait_for
from tests.decide.fleet import limits
from tests.record.conftest import in_threads
from tests.record.hosts import SECONDS, Host, Hosts
from tests.record.samples import FLEET, at, decision, keep, rising, save, scaler
from tests.record.test_epochs_postgresql import until_blocked
from tests.replaced import replace

pytestmark = pytest.mark.slow
ALL = {FLEET: range(256)}
NAMES = [f"s{number}" for number in range(12)]
FOUR = limits(4)


def turns(*hosts: Host) -> None:
    for _ in range(3):
        for host in hosts:
            host.turn(ALL)


def two(hosts: Hosts) -> tuple[Host, Host]:
    """Both members, the first by the order of their ids first."""
    one, other = hosts.start(), hosts.start()
    turns(one, other)
    in_order = sorted([one, other], key=lambda host: host.leases.member or "")
    return in_order[0], in_order[1]


def names_of(host: Host) -> Sequence[str]:
    """Of NAMES, those whose slots it holds."""
    return [name for name in NAMES if slot_of(TargetRef(FLEET, name)) in host.leases.held.get(FLEET, {})]


def shard(host: Host, limited: ConnectionLimits) -> Ledger:
    """The one shard of a daemon, with the autoscalers whose slots it holds."""
    host.state.follow(Retention(), [scaler(name, name) for name in NAMES])
    ledger = host.ledger()
    ledger.follow([scaler(name, name) for name in names_of(host)], limits=limited)
    return ledger


def falling(seconds: float, name: str, size: int = 2) -> Decision:
    """One that wants to go from 5 to this size."""
    made = decision(seconds, name, name, size=size)
    return replace(made, change=ScaleChange(f"{name}-{seconds}", size, 5, None, "cpu below target"))


def intend(ledger: Ledger, made: Decision) -> list[str]:
    """What was said against it."""
    ledger.recall([scaler(made.name, made.name)])
    return [str(error) for error in ledger.intend([made]).values()]


def removals(ledger: Ledger, seconds: float) -> list[tuple[str, int, int]]:
    """Name, instances and number of the share."""
    return [(one.name, one.instances, one.share) for one in ledger.standing(at(seconds)).removals]


def test_each_daemon_has_its_share(hosts: Hosts) -> None:
    """All parts together are the whole, and each knows whose a removal was."""
    first, second = two(hosts)
    ledgers = [shard(first, FOUR), shard(second, FOUR)]
    assert [ledger.standing(at(0)).share for ledger in ledgers] == [Share(0, 2), Share(1, 2)]
    name = names_of(first)[0]
    assert intend(ledgers[0], falling(0, name)) == []
    assert [removals(ledger, 15) for ledger in ledgers] == [[(name, 3, 0)]] * 2


def test_a_removal_goes_with_its_slot(hosts: Hosts) -> None:
    """Who takes the slot has that much less to remove, and does not begin with a fresh budget."""
    first, second = two(hosts)
    name = names_of(first)[0]
    ledger = shard(first, FOUR)
    assert intend(ledger, falling(0, name)) == []
    save(ledger, conclude(falling(0, name), Written(2)))
    first.leases.leave()
    turns(second)
    ledger = shard(second, FOUR)
    assert ledger.standing(at(15)).share == Share(0, 1)
    assert removals(ledger, 15) == [(name, 3, 0)]
    assert "has 1 left, of 3 to remove" in intend(ledger, falling(15, names_of(second)[0]))[0]


def test_what_a_daemon_that_died_has_removed_stays_counted(hosts: Hosts) -> None:
    """Before its slots are taken it is nobody's, and nobody may use that much; then it is who takes them's."""
    first, second = two(hosts)
    name = names_of(first)[0]
    assert intend(shard(first, FOUR), falling(0, name)) == []
    survivor = shard(second, FOUR)
    for _ in range(2):
        hosts.advance(SECONDS / 2 + 1)
        second.leases.renew()
    assert survivor.standing(at(30)).share == Share(0, 1)
    assert removals(survivor, 30) == [(name, 3, -1)]
    assert "another daemon has used it" in intend(survivor, falling(30, names_of(second)[0]))[0]
    turns(second)
    assert removals(shard(second, FOUR), 30) == [(name, 3, 0)]


def test_two_that_intend_at_the_same_moment_stay_within_the_budget(hosts: Hosts) -> None:
    """Each has seen that there was enough for it: one of them is told that there is not, and writes nothing."""
    first, second = two(hosts)
    ledgers = [shard(host, FOUR) for host in (first, second)]
    made = [falling(15, names_of(host)[0]) for host in (first, second)]
    said: list[list[str]] = []
    with hosts.start().state._database.writing() as connection:
        wait_for(connection, Lock.REMOVALS, FLEET)
        both = [
            lambda ledger=ledger, one=one: said.append(intend(ledger, one))
            for ledger, one in zip(ledgers, made, strict=True)
        ]
        racing = in_threads(both)
        raised = racing.__enter__()
        until_blocked(first.state._database, 2)
    racing.__exit__(None, None, None)
    assert raised == []
    assert sorted(map(len, said)) == [0, 1]
    assert sum(instances for _, instances, _ in removals(ledgers[0], 15)) == 3


def test_what_was_refused_is_intended_in_a_later_cycle(hosts: Hosts) -> None:
    """Nothing of it is in the state: neither an unfinished write nor a removal."""
    first, second = two(hosts)
    ledgers = [shard(host, FOUR) for host in (first, second)]
    name = names_of(second)[0]
    assert intend(ledgers[0], falling(0, names_of(first)[0])) == []
    ledgers[1].recall([scaler(name, name)])
    refused = ledgers[1].intend([falling(15, name)])
    assert [type(error) for error in refused.values()] == [StateError]
    assert ledgers[1].recall([scaler(name, name)])[name].unfinished is None
    assert intend(ledgers[1], falling(60, name)) == []


def test_a_retry_of_what_is_counted_already_is_not_refused(hosts: Hosts) -> None:
    """The budget is used up by its own unfinished write, which it takes the place of."""
    first, _ = two(hosts)
    ledger, name = shard(first, FOUR), names_of(first)[0]
    lost = falling(0, name, 1)
    assert intend(ledger, lost) == []
    save(ledger, conclude(lost, TargetUnavailable("no answer")))
    assert intend(ledger, falling(15, name, 1)) == []
    assert removals(ledger, 15) == [(name, 4, 0)]


def test_without_a_budget_nobody_waits_for_another(hosts: Hosts) -> None:
    """What a connection without limits commits costs what it did before there were any."""
    first, second = two(hosts)
    ledger = shard(first, ConnectionLimits())
    with second.state._database.writing() as connection:
        wait_for(connection, Lock.REMOVALS, FLEET)
        assert intend(ledger, falling(0, names_of(first)[0])) == []


def test_each_daemon_knows_the_sizes_of_the_others(hosts: Hosts) -> None:
    """As they were recorded, and what may still arrive of what was intended."""
    first, second = two(hosts)
    mine, theirs = shard(first, limits(total=100)), shard(second, limits(total=100))
    for name in names_of(second):
        keep(theirs, decision(0, name, name))
    standing = mine.standing(at(15))
    assert standing.totals == {1: 5 * len(names_of(second))}
    assert standing.sizes == dict.fromkeys(names_of(first), 1)
    name = names_of(second)[0]
    assert intend(theirs, rising(15, 20, name, name)) == []
    assert mine.standing(at(15)).totals == {1: 5 * len(names_of(second)) + 15}


def test_sizes_in_slots_that_no_daemon_serves_count_as_used(hosts: Hosts) -> None:
    """They are there, whoever died: the others must not take their room."""
    first, second = two(hosts)
    mine, theirs = shard(first, limits(total=100)), shard(second, limits(total=100))
    for name in names_of(second):
        keep(theirs, decision(0, name, name))
    for _ in range(2):
        hosts.advance(SECONDS / 2 + 1)
        first.leases.renew()
    assert mine.standing(at(30)).totals == {-1: 5 * len(names_of(second))}


def test_an_autoscaler_of_another_daemons_configuration_alone_counts(hosts: Hosts) -> None:
    """A new configuration has reached one host, and its autoscalers run there."""
    first, second = two(hosts)
    mine, theirs = shard(first, limits(total=100)), shard(second, limits(total=100))
    slots = second.leases.held[FLEET]
    new = next(name for name in map(str, range(1000)) if slot_of(TargetRef(FLEET, name)) in slots)
    keep(theirs, decision(0, new, new))
    assert mine.standing(at(15)).totals == {}
    second.leases.follow([scaler(new, new)], "newer")
    assert mine.standing(at(15)).totals == {1: 5}
