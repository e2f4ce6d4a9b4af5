"""Pasts without a daemon: the cycles that it would have recorded, one after another."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from autoscaler.errors import TargetError
from autoscaler.model import (
    Autoscaler,
    Behavior,
    Decision,
    Failure,
    Instance,
    ManualControls,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Outcome,
    Phase,
    PolicyType,
    Query,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetRef,
    TargetState,
    TargetType,
    ValueReading,
)
from autoscaler.whatif.compare.comparison import compare
from autoscaler.whatif.compare.document import ReplayDocument
from autoscaler.whatif.past.past import STATE, Cycle, Finding, Replayed
from autoscaler.whatif.replay.replay import Candidate, Replay
from tests.decide import build as decided
from tests.decide.build import CPU_60, NOW, samples, state
from tests.replaced import replace

_ORDERS = MetricSpec(
    MetricType.EXTERNAL, "orders", MetricTarget(TargetType.AVERAGE_VALUE, 15_000), Query("sum(rate(orders_total[1m]))")
)
CALM = Behavior(
    scale_up=ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 2, timedelta(minutes=1)),)),
    scale_down=ScalingRules(
        timedelta(minutes=5), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PERCENT, 25, timedelta(minutes=1)),)
    ),
)
_START_UP = timedelta(seconds=45)
_NONE = range(0)


class Life(decided.Life):
    """The cycles of one autoscaler, 15 s apart. Each decision is written and takes effect at once."""

    def __init__(self, scaler: Autoscaler | None = None, size: int = 2) -> None:
        super().__init__(scaler or decided.scaler(CPU_60, maximum=10, behavior=Behavior()), size)
        self.cycles: list[Cycle] = []

    def see(self, observed: Observation, outcome: Outcome | None = None, arrives: bool = True) -> Decision:
        before, at = self.history, self.now
        made = super().see(observed, outcome, arrives)
        self.cycles.append(Cycle(at, observed, self.autoscaler, made, before))
        self.now += self.autoscaler.sync_period
        return made

    def cpu(self, *percents: int, outcome: Outcome | None = None) -> Decision:
        """A cycle for each number, in which each instance uses this much of its capacity; the last decision."""
        for percent in percents:
            made = self.see(self.seen(percent), outcome)
        return made

    def load(self, *percents: int) -> None:
        """A cycle for each number, in which all instances together use this much of one's capacity."""
        for percent in percents:
            self.cpu(percent // self.size)

    def seen(self, percent: int) -> Observation:
        return Observation(state(self.size), (samples([percent * 10] * self.size, self.now),))

    def fail(self) -> None:
        """A cycle in which Prometheus does not answer."""
        self.see(Observation(state(self.size), (Failure("no answer"),)))

    def unreadable(self, error: TargetError) -> None:
        """A cycle in which the back end does not answer."""
        self.see(Observation(error, (Failure("not asked"),) * len(self.autoscaler.metrics)))

    def steer(self, steering: ManualControls) -> None:
        self.history = replace(self.history, manual=steering)


class Listed:
    """Implements `Past` in memory."""

    def __init__(self, cycles: Sequence[Cycle], name: str = "web", origin: str = "list") -> None:
        self.name, self.origin, self.findings = name, origin, list[Finding]()
        self.recorded = True
        self._cycles = cycles

    def cycles(self) -> Iterator[Cycle]:
        return iter(self._cycles)


def replay(cycles: Sequence[Cycle], candidate: Candidate, start_up: timedelta) -> Iterator[Replayed]:
    """The cycles as the candidate would have decided them."""
    made = Replay(candidate, start_up)
    return (replayed for cycle in cycles if (replayed := made.step(cycle)) is not None)


def compared(
    past: Listed | Sequence[Cycle], *candidates: Candidate, start_up: timedelta | None = None
) -> ReplayDocument:
    """Candidates over a past, to its end. `start_up`: where the past does not show it."""
    past = past if isinstance(past, Listed) else Listed(past)
    until = max([NOW, *[each.at + timedelta(seconds=15) for each in past.cycles()]])
    return compare(past, candidates, NOW, until, start_up=start_up)


def shop(name: str = "shop-web", maximum: int = 12) -> Autoscaler:
    """An autoscaler with two metrics and calm rules."""
    return Autoscaler(name, TargetRef("local", name), 2, maximum, (CPU_60, _ORDERS), CALM)


def shop_past(
    load: Callable[[float], float],
    cycles: int,
    name: str = "shop-web",
    *,
    silent: range = _NONE,
    failing: range = _NONE,
) -> Listed:
    """The recorded past of a shop whose instances start in 45 s. `load`: of a minute; 1 is an instance on its target.

    `silent`: cycles that did not run; `failing`: without orders.
    """
    life, born = Life(shop(name), size=3), [NOW - timedelta(days=1)] * 3
    for number in range(cycles):
        if number in silent:
            life.now += life.autoscaler.sync_period
            continue
        now = life.now
        born = [*born, *[now - life.autoscaler.sync_period] * (life.size - len(born))][: life.size]
        seen = _shop_seen(load(number / 4), now, born, failed=number in failing)
        life.see(seen)
    return Listed(life.cycles, name, STATE)


def _shop_seen(load: float, now: datetime, born: Sequence[datetime], *, failed: bool) -> Observation:
    instances = tuple(
        Instance(f"i-{place}", Phase.RUNNING, now >= since + _START_UP, since + _START_UP, since)
        for place, since in enumerate(born)
    )
    each = min(round(load * 600 / (sum(bool(one.ready) for one in instances) or 1)), 1000)
    cpu = samples({one.name: each if one.ready else 10 for one in instances}, now)
    orders = Failure("Prometheus did not answer") if failed else ValueReading((round(load * 6_000),))
    return Observation(TargetState(len(born), len(born), instances), (cpu, orders))
