"""What is remembered keeps its age, whatever clock is set: by one process, by its successor, by another host."""

import dataclasses
from datetime import timedelta
from typing import Any, cast

import pytest

from autoscaler.model import Call, History, Observed, Recommendation, ScheduleEntry, Sighting, later
from autoscaler.observe import Observer
from autoscaler.record import Ledger
from autoscaler.runtime.running_shard import Ports
from tests.record.conftest import Opener
from tests.record.hosts import Hosts
from tests.record.samples import FLEET, START, at, decision, keep, rising, save, scaler, written
from tests.schedule.clock import FakeClock

HOUR, DAY = 3600.0, 86400.0
STEPS = [HOUR, -HOUR, DAY, -DAY, 30, -30]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


def cycle(ledger: Ledger, clock: FakeClock, name: str = "web", size: int = 5) -> History:
    """One that keeps the recommendation `size`; what it was decided from."""
    ledger.follow_clock(clock.moment())
    history = ledger.recall([scaler(name)])[name]
    save(ledger, decision((clock.now() - START).total_seconds(), name, size=size))
    return history


def ages(history: History, clock: FakeClock) -> list[float]:
    """Of the recommendations, in seconds."""
    return [(clock.now() - each.at).total_seconds() for each in history.recommendations]


@pytest.mark.parametrize("slew", [0.5, -0.5, 0.01])
def test_small_steps_make_no_age_wrong_by_more_than_a_second(
    sqlite_opener: Opener, clock: FakeClock, slew: float
) -> None:
    """A clock that is pushed a little all the time would else end a window of 300 s within some hundred cycles."""
    ledger = sqlite_opener.ledger()
    cycle(ledger, clock, size=9)
    for second in range(240):
        clock.advance(1)
        clock.step(slew)
        ledger.follow_clock(clock.moment())
        (age,) = ages(ledger.recall([scaler()])["web"], clock)
        assert age == pytest.approx(second + 1, abs=1.0001)


def test_a_machine_that_slept_has_let_time_go_by(sqlite_opener: Opener, clock: FakeClock) -> None:
    """The kernel tells of it: what is older than a window is."""
    ledger = sqlite_opener.ledger()
    cycle(ledger, clock)
    clock.sleep(8 * HOUR)
    assert ages(cycle(ledger, clock), clock) == [8 * HOUR]


def test_after_another_start_of_the_machine_the_wall_clock_is_believed(sqlite_opener: Opener, clock: FakeClock) -> None:
    """It was off for two hours, or its clock was set: nothing says which."""
    cycle(sqlite_opener.ledger(), clock)
    clock.reboot()
    clock.step(2 * HOUR)
    ledger = sqlite_opener.restart()
    assert ages(cycle(ledger, clock), clock) == [2 * HOUR]
    clock.advance(15)
    clock.step(HOUR)
    assert ages(cycle(ledger, clock), clock) == [15]


def test_after_another_start_with_an_earlier_clock_no_time_has_gone_by(sqlite_opener: Opener, clock: FakeClock) -> None:
    """A machine without a battery wakes up in 1970: what was remembered keeps the age that it had."""
    cycle(sqlite_opener.ledger(), clock)
    clock.reboot()
    clock.step(-DAY)
    assert ages(cycle(sqlite_opener.restart(), clock), clock) == [0]


@pytest.mark.parametrize("step", STEPS)
def test_what_is_remembered_keeps_its_age(sqlite_opener: Opener, clock: FakeClock, step: float) -> None:
    """Recommendations, scale events, conditions, the unfinished write: at the next cycle all are 15 s older."""
    ledger = sqlite_opener.ledger()
    ledger.follow_clock(clock.moment())
    keep(ledger, written(rising(0)))
    ledger.recall([scaler()])
    ledger.intend([rising(0, size=9)])
    before = ledger.recall([scaler()])["web"]
    assert before.unfinished is not None
    clock.advance(15)
    clock.step(step)
    ledger.follow_clock(clock.moment())
    assert ledger.recall([scaler()])["web"] == later(before, timedelta(seconds=step))


@pytest.mark.parametrize("restart", [True, False])
def test_a_step_moves_once_however_often_it_is_read(sqlite_opener: Opener, clock: FakeClock, *, restart: bool) -> None:
    """Before it is recorded, after, and by a daemon that is started anew between."""
    ledger = sqlite_opener.ledger()
    cycle(ledger, clock)
    clock.advance(15)
    clock.step(HOUR)
    for expected in (15, 15):
        ledger.follow_clock(clock.moment())
        assert ages(ledger.recall([scaler()])["web"], clock) == [expected]
        if restart:
            ledger = sqlite_opener.restart()
    assert ages(cycle(ledger, clock), clock) == [15]
    if restart:
        ledger = sqlite_opener.restart()
    clock.advance(15)
    assert ages(cycle(ledger, clock), clock) == [15]


def test_a_step_while_no_daemon_ran_is_followed(sqlite_opener: Opener, clock: FakeClock) -> None:
    """The machine was not started anew meanwhile, so its other clock tells how long it was."""
    cycle(sqlite_opener.ledger(), clock)
    sqlite_opener.close()
    clock.advance(60)
    clock.step(HOUR)
    state = sqlite_opener.state(clock=clock)
    assert ages(cycle(state.ledger(FLEET), clock), clock) == [60]


def test_time_that_went_by_while_no_daemon_ran_counts(sqlite_opener: Opener, clock: FakeClock) -> None:
    cycle(sqlite_opener.ledger(), clock)
    sqlite_opener.close()
    clock.advance(2 * HOUR)
    state = sqlite_opener.state(clock=clock)
    assert ages(cycle(state.ledger(FLEET), clock), clock) == [2 * HOUR]


def test_a_step_during_a_cycle_is_the_next_ones(sqlite_opener: Opener, clock: FakeClock) -> None:
    """A cycle goes by one look at the clock, from its beginning to its record."""
    ledger = sqlite_opener.ledger()
    ledger.follow_clock(clock.moment())
    ledger.recall([scaler()])
    made = decision((clock.now() - START).total_seconds())
    clock.step(HOUR)
    save(ledger, made)
    clock.advance(15)
    assert ages(cycle(ledger, clock), clock) == [15]


def test_every_shard_follows_a_step_once(sqlite_opener: Opener, clock: FakeClock) -> None:
    """Also one that has not run since before the step, and one that looked before it and comes to it later."""
    state = sqlite_opener.state()
    ledgers = {name: state.ledger(name) for name in ("one", "two")}
    for name, ledger in ledgers.items():
        cycle(ledger, clock, name)
    clock.advance(10)
    before = clock.moment()
    clock.advance(5)
    clock.step(HOUR)
    assert ages(cycle(ledgers["one"], clock, "one"), clock) == [15]
    ledgers["two"].follow_clock(before)
    (kept,) = ledgers["two"].recall([scaler("two")])["two"].recommendations
    assert before.now - kept.at == timedelta(seconds=10)
    for name, ledger in ledgers.items():
        clock.advance(15)
        assert ages(cycle(ledger, clock, name), clock) == [45 if name == "two" else 15]


def test_one_that_was_away_for_several_steps_follows_them_all(sqlite_opener: Opener, clock: FakeClock) -> None:
    """It left the configuration, and came back."""
    ledger = sqlite_opener.ledger()
    cycle(ledger, clock)
    for step in (HOUR, -2 * HOUR, 30):
        clock.advance(15)
        clock.step(step)
        cycle(ledger, clock, "other")
    assert ages(cycle(ledger, clock), clock) == [45]


def test_sightings_keep_their_age(sqlite_opener: Opener, clock: FakeClock) -> None:
    """Else a step back makes every instance young, and HPA passes over the cpu of young ones."""
    target = scaler().target
    ledger = sqlite_opener.ledger()
    ledger.follow_clock(clock.moment())
    ledger.recall([scaler()])
    save(ledger, decision(), sightings={"task-1": Sighting(at(0), True, at(-7))})
    clock.advance(15)
    clock.step(HOUR)
    expected = {target: {"task-1": Sighting(at(HOUR), True, at(HOUR - 7))}}
    ledger.follow_clock(clock.moment())
    assert ledger.sightings([target]) == expected
    assert ledger.sightings([target]) == expected
    ledger = sqlite_opener.restart()
    ledger.follow_clock(clock.moment())
    assert ledger.sightings([target]) == expected


def test_a_state_that_never_saw_a_clock_begins_with_the_first(sqlite_opener: Opener, clock: FakeClock) -> None:
    """As `--once` leaves it."""
    keep(sqlite_opener.ledger(), decision(60))
    state = sqlite_opener.restart()
    state.follow_clock(clock.moment())  # a minute before the newest decision
    history = state.recall([scaler()])["web"]
    assert history.recommendations == (Recommendation(5, clock.now()),)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "database", "expected"),
    [(0, 0, 60), (HOUR, 0, 60), (0, HOUR, 60), (-HOUR, 0, 0), (0, -HOUR, 0), (HOUR, HOUR, 60 + HOUR)],
)
def test_between_hosts_the_clock_counts_by_which_less_time_has_gone_by(
    hosts: Hosts, own: float, database: float, expected: float
) -> None:
    """So one clock's step ends no window; what it extends one by is no more than the step."""
    (first,) = hosts.joined(1)
    ledger = first.ledger()
    cycle(ledger, first.clock)
    first.leases.leave()
    second = hosts.start()
    second.clock.reboot()
    hosts.advance(60)
    second.clock.step(own)
    hosts.step(database)
    for _ in range(2):
        second.turn()
    assert ages(cycle(second.ledger(), second.clock), second.clock) == [expected]


@pytest.mark.slow
@pytest.mark.parametrize("wrong_by", [0, HOUR])
def test_between_hosts_ages_count_from_when_cycles_begin(hosts: Hosts, wrong_by: float) -> None:
    """The cycle before observes for ten seconds, and this one waits for five before it reads what is remembered."""
    (first,) = hosts.joined(1)
    ledger = first.ledger()
    ledger.follow_clock(first.clock.moment())
    ledger.recall([scaler()])
    hosts.advance(10)
    save(ledger, decision())
    first.leases.leave()
    second = hosts.start(wrong_by=10 + wrong_by)
    second.clock.reboot()
    for _ in range(2):
        second.turn()
    taken = second.ledger()
    hosts.advance(50)
    moment = second.clock.moment()
    taken.follow_clock(moment)
    hosts.advance(5)
    (known,) = taken.recall([scaler()])["web"].recommendations
    assert (moment.now - known.at).total_seconds() == 60


class Slow:
    """An observer that takes ten seconds."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts

    def observe(self, *_: object) -> Observed:
        self._hosts.advance(10)
        return Observed({})


@pytest.mark.slow
def test_what_a_cycle_observes_meanwhile_makes_nothing_older(hosts: Hosts) -> None:
    """A row is as old as it is when the cycle begins, also where the database's clock alone says so."""
    first, second = hosts.start(wrong_by=-HOUR), hosts.start()
    second.clock.reboot()
    for _ in range(2):
        first.turn()
    cycle(first.ledger(), first.clock)
    first.leases.leave()
    hosts.advance(60)
    for _ in range(2):
        second.turn()
    moment, unused = second.clock.moment(), cast("Any", None)
    ports = Ports(cast("Observer", Slow(hosts)), second.ledger(), unused, second.clock)
    ports.observe([scaler()], Call(moment.now, 0, moment))
    (known,) = ports.recall([scaler()])["web"].recommendations
    assert (moment.now - known.at).total_seconds() == 60


class AskedFor:
    """An observer that keeps what it is asked with."""

    def __init__(self) -> None:
        self.asked: tuple[object, ...] = ()

    def observe(self, *asked: object) -> Observed:
        self.asked = asked
        return Observed({})


@pytest.mark.slow
def test_schedules_follow_the_databases_clock(hosts: Hosts) -> None:
    """All daemons that share a state open them at one time. Without schedules its clock is not asked."""
    host, observer, unused = hosts.start(wrong_by=-3600), AskedFor(), cast("Any", None)
    for _ in range(2):
        host.turn()
    ports = Ports(cast("Observer", observer), host.ledger(), unused, host.clock)
    moment = host.clock.moment()
    office = ScheduleEntry("office", "UTC", "0 8 * * *", timedelta(hours=1), min_replicas=3)
    for schedules, ahead in (((office,), 3600), ((), 0)):
        ports.observe([dataclasses.replace(scaler(), schedules=schedules)], Call(moment.now, 0, moment))
        assert observer.asked[-1] == timedelta(seconds=ahead)
