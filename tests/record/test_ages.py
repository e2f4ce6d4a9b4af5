"""Remembered times keep their age when a clock is set: within one process, after a restart, on another host."""

import dataclasses
from datetime import timedelta
from typing import Any, cast

import pytest

from autoscaler.cycle import Ports
from autoscaler.drain.drainer import Drainer
from autoscaler.model import Call, History, Observed, Recommendation, Rules, Sighting, later
from autoscaler.observe.observer import Observer
from autoscaler.record.ledger import Ledger
from autoscaler.rules.schedules import Schedules
from autoscaler.target import Adapter
from autoscaler.target.contract import RecordingLogger
from autoscaler.windows import ScheduleEntry
from tests.clocks import FakeClock
from tests.record.conftest import Opener
from tests.record.hosts import Hosts
from tests.record.samples import START, at, decision, keep, rising, save, scaler, written

HOUR, DAY = 3600.0, 86400.0
STEPS = [HOUR, -HOUR, DAY, -DAY, 30, -30]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


def cycle(ledger: Ledger, clock: FakeClock, name: str = "web", size: int = 5) -> History:
    """Run a cycle that keeps the recommendation `size`. Returns what it was decided from."""
    ledger.follow_clock(clock.moment())
    history = ledger.recall([scaler(name)])[name]
    save(ledger, decision((clock.now() - START).total_seconds(), name, size=size))
    return history


def ages(history: History, clock: FakeClock) -> list[float]:
    """Return the ages of the recommendations, in seconds."""
    return [(clock.now() - each.at).total_seconds() for each in history.hpa.recommendations]


@pytest.mark.parametrize("slew", [0.5, -0.5, 0.01])
def test_small_steps_make_no_age_wrong_by_more_than_a_second(opener: Opener, clock: FakeClock, slew: float) -> None:
    """Otherwise repeated small steps of the clock would end a window of 300 s within some hundred cycles."""
    ledger = opener.ledger()
    cycle(ledger, clock, size=9)
    for second in range(240):
        clock.advance(1)
        clock.step(slew)
        ledger.follow_clock(clock.moment())
        (age,) = ages(ledger.recall([scaler()])["web"], clock)
        assert age == pytest.approx(second + 1, abs=1.0001)


def test_after_a_reboot_the_wall_clock_counts(opener: Opener, clock: FakeClock) -> None:
    """The machine was off for two hours or its clock was set; the daemon cannot tell which."""
    cycle(opener.ledger(), clock)
    clock.reboot()
    clock.step(2 * HOUR)
    ledger = opener.restart()
    assert ages(cycle(ledger, clock), clock) == [2 * HOUR]
    clock.advance(15)
    clock.step(HOUR)
    assert ages(cycle(ledger, clock), clock) == [15]


def test_after_a_reboot_with_an_earlier_clock_ages_stay(opener: Opener, clock: FakeClock) -> None:
    """A machine without a battery boots in 1970. Ages are never negative."""
    cycle(opener.ledger(), clock)
    clock.reboot()
    clock.step(-DAY)
    assert ages(cycle(opener.restart(), clock), clock) == [0]


@pytest.mark.parametrize("step", STEPS)
def test_everything_remembered_keeps_its_age(opener: Opener, clock: FakeClock, step: float) -> None:
    """Recommendations, scale events, conditions and the unfinished write are 15 s older in the next cycle."""
    ledger = opener.ledger()
    ledger.follow_clock(clock.moment())
    keep(ledger, written(rising(0)))
    ledger.recall([scaler()])
    ledger.intend([rising(0, size=9)])
    before = ledger.recall([scaler()])["web"]
    assert before.pending is not None
    clock.advance(15)
    clock.step(step)
    ledger.follow_clock(clock.moment())
    assert ledger.recall([scaler()])["web"] == later(before, timedelta(seconds=step))


def test_every_shard_follows_a_step_once(opener: Opener, clock: FakeClock) -> None:
    """So does a shard that has not run since the step, and one that read the clock before the step."""
    state = opener.state()
    ledgers = {name: state.ledger(name) for name in ("one", "two")}
    for name, ledger in ledgers.items():
        cycle(ledger, clock, name)
    clock.advance(10)
    before = clock.moment()
    clock.advance(5)
    clock.step(HOUR)
    assert ages(cycle(ledgers["one"], clock, "one"), clock) == [15]
    ledgers["two"].follow_clock(before)
    (kept,) = ledgers["two"].recall([scaler("two")])["two"].hpa.recommendations
    assert before.now - kept.at == timedelta(seconds=10)
    for name, ledger in ledgers.items():
        clock.advance(15)
        assert ages(cycle(ledger, clock, name), clock) == [45 if name == "two" else 15]


def test_sightings_keep_their_age(opener: Opener, clock: FakeClock) -> None:
    """Otherwise a step back would make all instances young, and HPA ignores the cpu of young instances."""
    target = scaler().target
    ledger = opener.ledger()
    ledger.follow_clock(clock.moment())
    ledger.recall([scaler()])
    save(ledger, decision(), sightings={"task-1": Sighting(at(0), True, at(-7))})
    clock.advance(15)
    clock.step(HOUR)
    expected = {target: {"task-1": Sighting(at(HOUR), True, at(HOUR - 7))}}
    ledger.follow_clock(clock.moment())
    assert ledger.sightings([target]) == expected
    assert ledger.sightings([target]) == expected
    ledger = opener.restart()
    ledger.follow_clock(clock.moment())
    assert ledger.sightings([target]) == expected


def test_a_state_without_times_of_the_boot_clock_begins_with_the_first(opener: Opener, clock: FakeClock) -> None:
    """As `--once` leaves it."""
    keep(opener.ledger(), decision(60))
    state = opener.restart()
    state.follow_clock(clock.moment())  # a minute before the newest decision
    history = state.recall([scaler()])["web"]
    assert history.hpa.recommendations == (Recommendation(5, clock.now()),)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "database", "expected"),
    [(0, 0, 60), (HOUR, 0, 60), (0, HOUR, 60), (-HOUR, 0, 0), (0, -HOUR, 0), (HOUR, HOUR, 60 + HOUR)],
)
def test_between_hosts_the_smaller_age_counts(hosts: Hosts, own: float, database: float, expected: float) -> None:
    """So a step of one clock ends no window, and extends it by the step at most."""
    first = hosts.start()
    first.turn()
    ledger = first.ledger()
    cycle(ledger, first.clock)
    first.lease.resign()
    second = hosts.start()
    second.clock.reboot()
    hosts.advance(60)
    second.clock.step(own)
    hosts.step(database)
    second.turn()
    assert ages(cycle(second.ledger(), second.clock), second.clock) == [expected]


@pytest.mark.slow
@pytest.mark.parametrize("wrong_by", [0, HOUR])
def test_between_hosts_ages_count_from_when_cycles_begin(hosts: Hosts, wrong_by: float) -> None:
    """The previous cycle observes for ten seconds; this one waits five seconds before it reads the memory."""
    first = hosts.start()
    first.turn()
    ledger = first.ledger()
    ledger.follow_clock(first.clock.moment())
    ledger.recall([scaler()])
    hosts.advance(10)
    save(ledger, decision())
    first.lease.resign()
    second = hosts.start(wrong_by=10 + wrong_by)
    second.clock.reboot()
    second.turn()
    taken = second.ledger()
    hosts.advance(50)
    moment = second.clock.moment()
    taken.follow_clock(moment)
    hosts.advance(5)
    (known,) = taken.recall([scaler()])["web"].hpa.recommendations
    assert (moment.now - known.at).total_seconds() == 60


class Slow:
    """An observer that takes ten seconds."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts

    def observe(self, *_: object) -> Observed:
        self._hosts.advance(10)
        return Observed({})


@pytest.mark.slow
def test_a_slow_observation_makes_nothing_older(hosts: Hosts) -> None:
    """A row has its age at the start of the cycle, also when only the database's clock shows it."""
    first, second = hosts.start(wrong_by=-HOUR), hosts.start()
    second.clock.reboot()
    first.turn()
    cycle(first.ledger(), first.clock)
    first.lease.resign()
    hosts.advance(60)
    second.turn()
    moment, unused = second.clock.moment(), cast("Any", None)
    drainer = Drainer(Adapter(), {}, second.clock, RecordingLogger())
    ports = Ports(cast("Observer", Slow(hosts)), second.ledger(), unused, drainer, second.clock)
    ports.observe([scaler()], Call(moment.now, 0, moment))
    (known,) = ports.ledger.recall([scaler()])["web"].hpa.recommendations
    assert (moment.now - known.at).total_seconds() == 60


class AskedFor:
    """An observer that keeps the arguments of its calls."""

    def __init__(self) -> None:
        self.asked: tuple[object, ...] = ()

    def observe(self, *asked: object) -> Observed:
        self.asked = asked
        return Observed({})


@pytest.mark.slow
def test_schedules_follow_the_databases_clock(hosts: Hosts) -> None:
    """All daemons that share a state open schedules at the same time. Without schedules they do not read its clock."""
    host, observer, unused = hosts.start(wrong_by=-3600), AskedFor(), cast("Any", None)
    host.turn()
    drainer = Drainer(Adapter(), {}, host.clock, RecordingLogger())
    ports = Ports(cast("Observer", observer), host.ledger(), unused, drainer, host.clock)
    moment = host.clock.moment()
    office = ScheduleEntry("office", "UTC", "0 8 * * *", timedelta(hours=1), min_replicas=3)
    for schedules, ahead in (([Schedules((office,))], 3600), ([], 0)):
        ports.observe([dataclasses.replace(scaler(), rules=Rules(schedules))], Call(moment.now, 0, moment))
        assert observer.asked[-1] == timedelta(seconds=ahead)
