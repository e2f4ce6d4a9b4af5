"""Every recorded cycle can be decided again, bit for bit, from the state alone."""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import pytest

from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.errors import TargetNotFound, TargetUnavailable
from autoscaler.model import (
    Autoscaler,
    Behavior,
    Conflict,
    Decision,
    Direction,
    Failure,
    Held,
    History,
    Hold,
    HoldReason,
    Instance,
    InstanceReading,
    Limits,
    ManualControls,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Observed,
    Outcome,
    Override,
    Pause,
    Phase,
    PolicyType,
    Proposed,
    Query,
    Reading,
    Rules,
    Sample,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetRef,
    TargetState,
    TargetType,
    Unchanged,
    ValueReading,
    Written,
)
from autoscaler.record import Archive, Ledger
from autoscaler.rules.brakes import Brake, Brakes, LossBrake, OutsideChangeBrake, UnfulfilledBrake, active_brakes
from autoscaler.rules.drain import DrainRule
from autoscaler.rules.fallback import Fallbacks, MetricFallback
from autoscaler.rules.idle import IDLE, Idle
from tests.clocks import FakeClock
from tests.decide.build import QUEUE_15
from tests.decide.build import scaler as queue_scaler
from tests.record.conftest import Opener, kept_for
from tests.record.deciding_again import comparable, decided_again
from tests.record.refused import refused
from tests.record.samples import FLEET, START, at, count_blocks, drains, scaler
from tests.replaced import replace
from tests.steering import steer
from tests.view.lives import Recorded, named

SHORT: Final = timedelta(seconds=15)
LONG: Final = timedelta(seconds=60)


def check(archive: Archive, name: str, made: Sequence[Decision], since: datetime | None = None) -> None:
    """Assert that the records give exactly these decisions, in order."""
    records = list(archive.records(name, since))
    assert [comparable(record.decision) for record in records] == [comparable(each) for each in made]
    for record in records:
        assert comparable(decided_again(record)) == comparable(record.decision)


class Fleet:
    """Autoscalers whose loads, targets and operators act at random."""

    def __init__(self, opener: Opener, seed: int) -> None:
        self.opener = opener
        self.random = random.Random(seed)
        self.clock = FakeClock(START)
        self.scalers = {name: _configured(name) for name in ("a", "b", "c", "d")}
        self.sizes = dict.fromkeys(self.scalers, 4)
        self.made: dict[str, list[Decision]] = {name: [] for name in self.scalers}
        self.away: set[str] = set()
        self.down: set[str] = set()
        """The autoscalers whose queue has no value."""
        self.state = opener.state(kept_for())
        self.ledger = self.state.ledger(FLEET)
        self.follow()

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def follow(self) -> None:
        here = [one for name, one in self.scalers.items() if name not in self.away]
        self.ledger.follow(here)
        self.state.follow(kept_for(), here)

    def open(self) -> None:
        self.opener.close()
        self.state = self.opener.state(kept_for())
        self.ledger = self.state.ledger(FLEET)
        self.follow()

    def restart(self) -> None:
        """Open the state again. It has what the daemon remembered."""
        known = self.histories()
        self.open()
        assert self.histories() == known

    def histories(self) -> dict[str, History]:
        """Return what is remembered of those that are served."""
        self.ledger.follow_clock(self.clock.moment())
        return dict(self.ledger.recall([one for name, one in self.scalers.items() if name not in self.away]))

    def reload(self) -> None:
        """Change the file: bounds, rules, periods and the list of autoscalers."""
        name = self.random.choice(list(self.scalers))
        one = self.scalers[name]
        match self.random.randrange(5):
            case 0:
                one = replace(one, max_replicas=self.random.randint(6, 30))
            case 1:
                one = replace(one, sync_period=LONG if one.sync_period == SHORT else SHORT)
            case 2:
                one = replace(one, behavior=None if one.behavior else _rules(self.random.randrange(0, 120)))
            case 3:
                one = replace(one, dry_run=not one.dry_run)
            case _:
                self.away ^= {name}
        self.scalers[name] = one
        self.follow()

    def steer(self) -> None:
        asked = ManualControls()
        until = self.random.choice([None, self.now + timedelta(seconds=40)])
        if self.random.random() < 0.4:
            asked = replace(asked, pause=Pause(Direction.IN, "ann", "", self.now, until))
        if self.random.random() < 0.4:
            asked = replace(asked, override=Override(2, 8, "bob", "sale", self.now, until))
        steer(self.state, self.random.choice(list(self.scalers)), asked)

    def disturb(self) -> None:
        """Set the sizes as another client does, or begin or end an outage of a metric."""
        if self.random.random() < 0.5:
            self.sizes = {name: self.random.randint(1, 12) for name in self.sizes}
        else:
            self.down ^= {self.random.choice(list(self.scalers))}

    def happen(self) -> None:
        """Let something happen before a cycle, or nothing."""
        chance = self.random.random()
        if chance < 0.04:
            self.restart()
        elif chance < 0.12:
            self.reload()
        elif chance < 0.20:
            self.steer()
        elif chance < 0.26:
            self.disturb()
        elif chance < 0.28:
            self.clock.step(self.random.randrange(-4000, 4000))
        elif chance < 0.29:
            self.clock.reboot()
            self.open()

    def cycle(self, period: timedelta) -> None:
        batch = [one for name, one in self.scalers.items() if one.sync_period == period and name not in self.away]
        if not batch:
            return None
        self.ledger.follow_clock(self.clock.moment())
        seen = {one.name: self.observe(one) for one in batch}
        histories = self.ledger.recall(batch)
        made = [decide(one, seen[one.name], histories[one.name], self.now) for one in batch]
        self.ledger.intend(made)
        outcomes = {each.name: self.act(each) for each in made if each.change is not None}
        concluded = [apply_outcome(each, outcomes.get(each.name)) for each in made]
        fate = self.random.random()
        by_name = {one.name: one for one in batch}
        if fate < 0.03:
            return self.restart()  # killed between the write and its record
        if fate < 0.06:
            with refused(self.ledger, "INSERT INTO block"):
                self.ledger.record(by_name, Observed(seen), concluded)
            return None
        self.ledger.record(by_name, Observed(seen), concluded)
        self.ledger._context.housekeeper.tidy(self.now)
        for each in concluded:
            self.made[each.name].append(each)
        return None

    def act(self, made: Decision) -> Outcome:
        assert made.change is not None
        if made.dry_run:
            return Proposed(made.change.size)
        size, before = made.change.size, made.change.decided_from
        outcomes = list[Outcome](
            [
                Written(size),
                Written(self.random.randint(min(size, before), max(size, before))),
                Unchanged(),
                Conflict("somebody else set it to 9"),
                Held(HoldReason("InstanceRefresh", "a refresh began")),
                TargetUnavailable("no answer in time \ud800"),
                TargetNotFound("it is gone"),
            ]
        )
        outcome = self.random.choices(outcomes, [10, 2, 1, 1, 1, 2, 1])[0]
        if isinstance(outcome, Written):
            self.sizes[made.name] = outcome.size
        elif isinstance(outcome, TargetUnavailable) and self.random.random() < 0.5:
            self.sizes[made.name] = size
        return outcome

    def queue(self, failing: float) -> ValueReading | Failure:
        """Return a value, or a failure with this probability."""
        return Failure("no data") if self.random.random() < failing else ValueReading((self.random.randrange(200_000),))

    def observe(self, one: Autoscaler) -> Observation:
        if self.random.random() < 0.05:
            return Observation(TargetUnavailable("throttled"), (Failure("not asked"),) * len(one.metrics))
        size, chance = self.sizes[one.name], self.random
        instances = tuple(
            Instance(
                f"{one.name}-{number}",
                Phase.RUNNING,
                ready=chance.choice([True, True, True, None, False]),
                ready_transition=START,
                started_at=START - timedelta(hours=1),
            )
            for number in range(size // 3 if chance.random() < 0.03 else size)
        )
        samples = {
            each.name: Sample(chance.randrange(8_000), self.now - timedelta(microseconds=chance.randrange(10**7)), LONG)
            for each in instances
            if chance.random() < 0.95
        }
        readings: list[Reading | Failure] = [
            InstanceReading(samples, dict.fromkeys(samples, 4_000)),
            self.queue(1 if one.name in self.down else 0.25),
        ]
        crude = (None, self.queue(0)) if one.rules.find(Fallbacks) else ()
        hold = Hold(scale_in=HoldReason("Refresh", "under way")) if chance.random() < 0.05 else Hold()
        state = TargetState(size, size, instances, Limits(0, 25), hold, revision=str(chance.randrange(3)))
        leaving, reports = drains(chance)
        state = replace(state, awaiting_drain=leaving)
        return Observation(state, tuple(readings), tuple(samples)[:2], crude, drains=reports)


def _configured(name: str) -> Autoscaler:
    cpu = MetricSpec(MetricType.RESOURCE, "cpu", MetricTarget(TargetType.UTILIZATION, 60), Query("cpu"))
    queue = MetricSpec(MetricType.EXTERNAL, "queue", MetricTarget(TargetType.AVERAGE_VALUE, 15_000), Query("queue"))
    target = TargetRef(FLEET, f"{name}-asg")
    period = LONG if name == "d" else SHORT
    behavior = _rules(30) if name in "ab" else None
    drain = [DrainRule(command=("/bin/true",))] if name in "ab" else []
    idle = [Idle(timedelta(seconds=45), (None, 180_000))] if name in "bc" else []
    unfulfilled = UnfulfilledBrake(progress_deadline=timedelta(seconds=90))
    brakes = [Brakes(unfulfilled, LossBrake(), OutsideChangeBrake())] if name in "ad" else []
    crude = MetricFallback(timedelta(seconds=30), query=Query("crude"), allow_scale_in=True)
    fallbacks = [Fallbacks((None, crude))] if name in "cd" else []
    rules = Rules([*drain, *idle, *brakes, *fallbacks])
    return Autoscaler(name, target, 1, 20, (cpu, queue), behavior, sync_period=period, rules=rules)


def _rules(window: int) -> Behavior:
    policies = (ScalingPolicy(PolicyType.PODS, 3, LONG), ScalingPolicy(PolicyType.PERCENT, 50, SHORT))
    up = ScalingRules(timedelta(0), SelectPolicy.MAX, policies)
    return Behavior(up, ScalingRules(timedelta(seconds=window), SelectPolicy.MIN, policies))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_decisions_of_an_eventful_life_can_be_repeated(
    sqlite_opener: Opener, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Restarts, failed commits, writes without an outcome, set clocks, pauses, reloads, two periods.

    With drains, idleness, brakes and fallbacks.
    """
    monkeypatch.setattr("autoscaler.record.packing.PAGES_PER_BLOCK", 12)
    fleet = Fleet(sqlite_opener, seed)
    for tick in range(160):
        fleet.clock.advance(SHORT.total_seconds())
        fleet.happen()
        fleet.cycle(SHORT)
        if tick % 4 == 0:
            fleet.cycle(LONG)
    archive = fleet.opener.archive()
    assert sum(map(len, fleet.made.values())) > 150
    whole = [each for made in fleet.made.values() for each in made]
    assert any(step.reason == IDLE for each in whole for step in each.trace)
    assert Brake.OUTSIDE_CHANGE in {on.brake for each in whole for on in active_brakes(each.remembered.rules.of)}
    assert (Fallbacks.condition, True) in {(on.type, on.status) for each in whole for on in each.conditions}
    for name, made in fleet.made.items():
        check(archive, name, made)
        for each in fleet.random.sample(made, min(8, len(made))):
            record = archive.record_at(name, each.now)
            assert record is not None
            last = [other for other in made if other.now <= each.now][-1]
            assert comparable(decided_again(record)) == comparable(last)


@pytest.mark.slow
def test_more_than_an_hour_is_packed_and_decided_again(opener: Opener) -> None:
    """With blocks of their usual length, of autoscalers that leave and stay, on SQLite and PostgreSQL."""
    fleet = Fleet(opener, 7)
    while len(fleet.made["a"]) < 260:  # some cycles are never recorded
        fleet.clock.advance(SHORT.total_seconds())
        if len(fleet.made["a"]) == 100:
            fleet.away = {"b"}
            fleet.follow()
        fleet.cycle(SHORT)
    archive = opener.archive()
    assert count_blocks(fleet.ledger, packed=True) >= 2
    assert [bool(fleet.made[name]) for name in "abcd"] == [True, True, True, False]
    for name, made in fleet.made.items():
        check(archive, name, made)


class Plain:
    """Autoscalers at rest, whose numbers show which cycle is whose."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.histories: dict[str, History] = {}
        self.made: dict[str, list[Decision]] = {}

    def cycle(self, seconds: float, scalers: Mapping[str, timedelta]) -> None:
        """Run a cycle of these autoscalers, each with its sync period."""
        batch = [replace(scaler(name, name), sync_period=period) for name, period in scalers.items()]
        histories = self.ledger.recall(batch)
        seen = {one.name: Observation(TargetState(5, 5, ()), (Failure(f"at {seconds}"),)) for one in batch}
        made = [decide(one, seen[one.name], histories[one.name], at(seconds)) for one in batch]
        self.ledger.record({one.name: one for one in batch}, Observed(seen), made)
        self.ledger._context.housekeeper.tidy(at(seconds))
        for one, each in zip(batch, made, strict=True):
            assert histories[one.name] == self.histories.get(one.name, History())
            self.histories[one.name] = remember(one, histories[one.name], each)
            self.made.setdefault(one.name, []).append(each)


@pytest.mark.usefixtures("short_blocks")
def test_the_last_decision_of_a_removed_autoscaler_can_be_repeated(opener: Opener) -> None:
    """The others continue, and its page is packed."""
    fleet = Plain(opener.ledger())
    for cycle in range(3):
        fleet.cycle(15 * cycle, {"leaves": SHORT, "stays": SHORT})
    for cycle in range(3, 20):
        fleet.cycle(15 * cycle, {"stays": SHORT})
        check(opener.archive(), "leaves", fleet.made["leaves"])
    last = opener.archive().record_at("leaves")
    assert last is not None
    assert decided_again(last) == fleet.made["leaves"][-1]


@pytest.mark.usefixtures("short_blocks")
def test_an_autoscaler_that_returns_continues_from_its_memory(opener: Opener) -> None:
    """Its memory was kept in a copy meanwhile."""
    fleet = Plain(opener.ledger())
    for cycle in range(30):
        here = {"stays": SHORT} if 3 <= cycle < 12 or 20 <= cycle < 22 else {"leaves": SHORT, "stays": SHORT}
        fleet.cycle(15 * cycle, here)
        if cycle == 8:
            fleet.ledger = opener.restart()
    for name in ("leaves", "stays"):
        check(opener.archive(), name, fleet.made[name])


@pytest.mark.usefixtures("short_blocks")
def test_cycles_of_several_sync_periods_are_read_in_the_order_of_their_commits(opener: Opener) -> None:
    """Pages of an unused period stay."""
    fleet = Plain(opener.ledger())
    for cycle in range(24):
        fleet.cycle(15 * cycle, {"web": LONG if 3 <= cycle < 9 or cycle >= 14 else SHORT})
    archive = opener.archive()
    check(archive, "web", fleet.made["web"])
    assert [row.at for row in archive.series("web")] == sorted(row.at for row in archive.series("web"))
    for made in fleet.made["web"]:
        record = archive.record_at("web", made.now)
        assert record is not None
        assert decided_again(record) == made


@pytest.mark.usefixtures("short_blocks")
def test_an_autoscaler_may_change_its_period_while_its_page_is_packed(opener: Opener) -> None:
    """Its newest row is in a packed page, its next row in a page of another period."""
    fleet = Plain(opener.ledger())
    for cycle in range(12):
        period = SHORT if cycle < 4 else LONG
        fleet.cycle(15 * cycle, {"stays": SHORT, "web": period})
    for name in ("web", "stays"):
        check(opener.archive(), name, fleet.made[name])
    ledger = opener.restart()
    assert ledger.recall([scaler("web", "web")])["web"] == fleet.histories["web"]


def test_a_decision_at_the_end_of_a_pause_can_be_repeated(sqlite_opener: Opener) -> None:
    """The pause is part of the memory, also in the cycle after its end."""
    state = sqlite_opener.state()
    life = Recorded(state.ledger(FLEET), named(queue_scaler(QUEUE_15), "web"), size=50)  # incomplete rows
    made = [life.queue(750)]
    steer(state, "web", ManualControls(Pause(Direction.BOTH, "ann", "", life.now, life.now + timedelta(seconds=40))))
    made += [life.queue(750) for _ in range(5)]
    assert [each.reason for one in made for each in one.events] == ["PauseEnded"]
    check(state.archive, "web", made)
