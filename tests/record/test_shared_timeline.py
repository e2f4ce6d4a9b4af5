"""PostgreSQL: time is the database's, and one step of its clock counts once, however many daemons see it."""

from datetime import timedelta

import pytest

from autoscaler.record.timeline import SharedTimeline
from tests.record.conftest import in_threads
from tests.record.hosts import SECONDS, WEB, Host, Hosts
from tests.record.samples import at, decision, save, scaler

pytestmark = pytest.mark.slow
HOUR = 3600.0


def renew(*hosts: Host) -> None:
    """Twice: whose lease was lost joins anew."""
    for _ in range(2):
        for host in hosts:
            host.leases.renew()


def leads(*hosts: Host) -> list[float]:
    return [host.state.timeline.lead / 1_000_000 for host in hosts]


@pytest.mark.parametrize("step", [HOUR, -HOUR, 24 * HOUR, -24 * HOUR, -5])
def test_a_step_counts_once(hosts: Hosts, step: float) -> None:
    found = hosts.joined(3)
    hosts.advance(2)
    hosts.step(step)
    renew(*found)
    hosts.advance(2)
    renew(*found)
    assert leads(*found) == [step] * 3
    assert {host.state.clock.now() for host in found} == {at(4 + step)}


def test_a_step_that_all_see_at_once_counts_once(hosts: Hosts) -> None:
    found = hosts.joined(3)
    hosts.step(-HOUR)
    with in_threads([host.leases.renew for host in found]) as raised:
        pass
    renew(*found)
    assert (raised, leads(*found)) == ([], [-HOUR] * 3)


def test_whom_another_was_quicker_than_takes_what_that_one_counted(hosts: Hosts) -> None:
    """Its own count may differ by what its look took; and two steps may be on the way."""
    first, second = hosts.joined(2)
    hosts.step(-HOUR)
    first.leases.renew()
    timeline, booted = second.state.timeline, second.state.clock.moment().booted
    assert isinstance(timeline, SharedTimeline)
    with second.state._database.writing() as connection:
        look = timeline.look(connection, timeline.lead, booted - timedelta(seconds=HOUR + 3), alone=False)
    assert look.lead == first.state.timeline.lead
    renew(first, second)
    assert leads(first, second) == [-HOUR, -HOUR]


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_what_is_remembered_keeps_its_age(hosts: Hosts, step: float) -> None:
    """Also for a daemon that takes it over, and has seen the step itself."""
    first, second = hosts.joined(2)
    one, other = (first, second) if WEB in first.leases.held else (second, first)
    ledger = one.ledger()
    ledger.follow_clock(one.state.clock.moment())
    ledger.recall([scaler()])
    save(ledger, decision(0))
    hosts.advance(5)
    hosts.step(step)
    renew(one, other)
    one.state.close()
    for _ in range(2):
        other.turn()
    ledger = other.ledger()
    ledger.follow_clock(other.state.clock.moment())
    (kept,) = ledger.recall([scaler()])["web"].recommendations
    assert other.state.clock.now() - kept.at == timedelta(seconds=5)


def test_a_cycle_that_began_before_a_step_goes_by_what_it_saw(hosts: Hosts) -> None:
    (first,) = hosts.joined(1)
    ledger = first.ledger()
    ledger.follow_clock(first.state.clock.moment())
    ledger.recall([scaler()])
    save(ledger, decision(0))
    hosts.advance(5)
    before = first.state.clock.moment()
    hosts.advance(1)
    hosts.step(-HOUR)
    first.leases.renew()
    for moment in (before, first.state.clock.moment()):
        ledger.follow_clock(moment)
        (kept,) = ledger.recall([scaler()])["web"].recommendations
        assert moment.now - kept.at == timedelta(seconds=5 if moment is before else 6)


def test_clocks_that_run_at_different_speeds_are_no_step(hosts: Hosts) -> None:
    """A crystal that is 0.03 % too slow comes to 5 s in four and a half hours."""
    found = hosts.joined(2)
    for _ in range(50):
        hosts.advance(6)
        hosts.step(0.002)
        renew(*found)
    assert leads(*found) == [0, 0]
    assert found[0].state.clock.now() == at(300.1)


def test_small_steps_back_add_up(hosts: Hosts) -> None:
    """A clock that is pushed back half a second at a time would else make no window ever end."""
    found = hosts.joined(2)
    for _ in range(20):
        hosts.advance(2)
        hosts.step(-0.5)
        renew(*found)
    assert leads(*found) == pytest.approx([-10, -10], abs=1.1)


def test_a_virtual_machine_that_stood_still_moves_nobody_s_time(hosts: Hosts) -> None:
    """To it that looks as if the database's clock were set forward; the others have counted the time."""
    first, second = hosts.joined(2)
    for _ in range(240):
        hosts.advance(SECONDS, without=[first])
        second.leases.renew()
        if second.leases.member is None:
            second.leases.renew()
    renew(second, first)
    assert leads(first, second) == [0, 0]
    assert first.state.clock.now() == second.state.clock.now()


def test_a_step_while_no_daemon_ran_is_followed(hosts: Hosts) -> None:
    (first,) = hosts.joined(1)
    first.state.close()
    hosts.advance(60)
    hosts.step(HOUR)
    again = hosts.start(up=60)
    assert again.state.timeline.moved == timedelta(hours=1)


def test_without_the_database_time_goes_on(hosts: Hosts) -> None:
    (first,) = hosts.joined(1)
    first.clock.advance(100)
    assert first.state.clock.now() == at(100)
