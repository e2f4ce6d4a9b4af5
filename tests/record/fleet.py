"""A fleet whose loads, targets, operators and configuration change at random."""

import random
from datetime import datetime, timedelta
from typing import Final

from autoscaler.decide import apply_outcome, decide
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
    later,
)
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.brakes.outside_change import OutsideChangeBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from autoscaler.rules.drain import DrainRule
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.fallback.keys import MetricFallback
from autoscaler.rules.idle import Idle
from tests.clocks import FakeClock
from tests.record.conftest import Opener, kept_for
from tests.record.refused import refused
from tests.record.samples import FLEET, START, drains
from tests.replaced import replace
from tests.steering import steer

SHORT: Final = timedelta(seconds=15)
LONG: Final = timedelta(seconds=60)


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

    def set_clock(self) -> None:
        """Set the wall clock. What is remembered keeps its age."""
        known, by = self.histories(), self.random.randrange(-4000, 4000)
        self.clock.step(by)
        assert self.histories() == {name: later(each, timedelta(seconds=by)) for name, each in known.items()}

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
            self.set_clock()
        elif chance < 0.29 and self.opener.url is None:
            # After a reboot PostgreSQL's own clock would count, which the test does not set.
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
        warnings = ("the readiness probe gets HTTP 404",) if chance.random() < 0.2 else ()
        state = replace(state, awaiting_drain=leaving, warnings=warnings)
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
