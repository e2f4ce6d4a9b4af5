"""A takeover, on a real PostgreSQL: what the former leader can no longer do, and what its successor knows."""

from datetime import timedelta

import pytest

from autoscaler.errors import StaleLedger
from tests.record.conftest import kept_for
from tests.record.hosts import DEADLINE, SECONDS, Hosts, two
from tests.record.samples import at, decision, keep, rising, save, scaler, written

pytestmark = pytest.mark.slow


def test_a_leader_that_was_stopped_commits_nothing_and_stands_by(hosts: Hosts) -> None:
    """It was stopped for longer than its lease, and continues in the middle of a cycle."""
    first, second = two(hosts)
    ledger = first.ledger()
    keep(ledger, decision(0))
    ledger.recall([scaler()])
    hosts.fail_over(first, second)
    assert ledger.is_current()  # as far as it knows, so its announcement is confirmed first
    with pytest.raises(StaleLedger, match="this daemon has lost its lease"):
        ledger.intend([rising(15)])
    assert not ledger.is_current()
    with pytest.raises(StaleLedger):
        save(ledger, decision(15))
    generation = second.lease.generation
    hosts.live(1, first, second)
    assert (first.lease.generation, second.lease.generation) == (None, generation)


def test_a_leader_whose_lease_is_over_announces_nothing_although_no_daemon_took_it(hosts: Hosts) -> None:
    """A standby may take it at any moment, and the write comes after the commit."""
    first, _ = two(hosts)
    ledger = first.ledger()
    ledger.recall([scaler()])
    hosts.advance(DEADLINE)
    with pytest.raises(StaleLedger, match="this daemon has lost its lease"):
        ledger.intend([rising(0)])


def test_a_successor_has_the_memory_of_the_former_leader(hosts: Hosts) -> None:
    """It has the windows and the announced write, which is settled first."""
    first, second = two(hosts)
    theirs = first.ledger()
    keep(theirs, decision(0))
    theirs.recall([scaler()])
    theirs.intend([rising(15)])
    expected = theirs.recall([scaler()])["web"]
    hosts.fail_over(first, second)
    ours = second.ledger()
    ours.follow([scaler()])
    found = ours.recall([scaler()])["web"]
    assert found.pending is not None
    assert (found.pending, found.at) == (expected.pending, expected.at)
    save(ours, written(rising(15)))
    assert second.state.archive.latest()["web"].now == at(15)


def test_a_former_leader_deletes_nothing(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on with the housekeeping in which it was stopped. Its own configuration keeps an hour only."""
    first, second = two(hosts)
    keep(first.ledger(), decision(0))
    housekeeper = first.state._context.housekeeper
    first.state.follow(kept_for(timedelta(hours=1), timedelta(hours=1)), ())

    def stop(_now: int) -> bool:
        hosts.fail_over(first, second)
        return False

    monkeypatch.setattr(housekeeper, "_pack", stop)
    for late in (1, 2):  # it continues, and begins another pass
        housekeeper.tidy(at(late * 24 * 3_600))
        monkeypatch.setattr(housekeeper, "_pack", lambda _: False)
        assert second.state.archive.latest().keys() == {"web"}


def test_a_leader_that_ends_frees_its_lease(hosts: Hosts) -> None:
    """A standby leads at its next look."""
    first, second = two(hosts)
    first.state.close()
    second.turn()
    assert second.leads


def test_a_leader_that_gives_up_does_not_free_its_lease(hosts: Hosts) -> None:
    """One of its writes may be on its way until then."""
    first, second = two(hosts)
    assert first.lease.generation is not None
    first.lease.give_up(first.lease.generation)
    assert first.lease.seconds_left() == 0
    hosts.live(int(SECONDS) - 1, second, first)
    assert [host.leads for host in (first, second)] == [False, False]
    hosts.live(1, second, first)
    assert [host.leads for host in (first, second)].count(True) == 1


def test_a_daemon_that_resigned_waits_for_twice_the_duration(hosts: Hosts) -> None:
    """Otherwise it could lead again before a standby looks."""
    only = hosts.start()
    only.turn()
    only.lease.resign()
    assert (only.lease.generation, only.leads) == (None, False)
    hosts.live(2 * int(SECONDS) - 1, only)
    assert not only.leads
    hosts.live(1, only)
    assert only.leads


def test_a_standby_leads_at_its_next_look_after_the_leader_resigned(hosts: Hosts) -> None:
    first, second = two(hosts)
    ledger = first.ledger()
    first.lease.resign()
    hosts.live(1, first, second)
    assert (first.leads, second.leads) == (False, True)
    hosts.live(4 * int(SECONDS), first, second)
    assert (first.leads, second.leads) == (False, True), "it competes only for a lease that is free or over"
    with pytest.raises(StaleLedger):
        ledger.save_adapter_memory(scaler().target, {"late": True})


def test_a_leader_with_a_hanging_call_resigns_and_keeps_others_waiting(hosts: Hosts) -> None:
    """The call may still write, until the lease ends by itself."""
    first, second = two(hosts)
    first.lease.resign(hanging=True)
    assert not first.leads
    hosts.live(int(SECONDS) - 1, first, second)
    assert not second.leads
    hosts.live(1, first, second)
    assert (first.leads, second.leads) == (False, True)


def test_a_standby_that_resigns_frees_no_lease_of_another_daemon(hosts: Hosts) -> None:
    """A daemon that lost its lease and ends does this, too."""
    first, second = two(hosts)
    second.lease.resign()
    hosts.live(3, first)
    assert first.leads
    hosts.fail_over(first, second := hosts.start())
    first.state.close()
    hosts.live(3, second)
    assert second.leads
