"""A made-up past of one autoscaler, as a daemon would have recorded it: real decisions about a made-up load."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from autoscaler.decide import conclude, decide, remember
from autoscaler.errors import MetricError, TargetUnavailable
from autoscaler.model import (
    Autoscaler,
    Behavior,
    History,
    Instance,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
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
    Written,
)
from autoscaler.whatif.past.past import STATE, Finding, Moment
from autoscaler.whatif.past.watch import Watch
from tests.decide.build import CPU_60, NOW, samples

QUEUE = MetricSpec(
    MetricType.EXTERNAL, "orders_waiting", MetricTarget(TargetType.AVERAGE_VALUE, 15_000), Query("sum(orders_waiting)")
)
CALM = Behavior(
    scale_up=ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 2, timedelta(minutes=1)),)),
    scale_down=ScalingRules(
        timedelta(minutes=5), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PERCENT, 25, timedelta(minutes=1)),)
    ),
)
START_UP = timedelta(seconds=45)
Load = Callable[[float], float]
"""Minutes since the start -> the load: 1 keeps one instance exactly at its target."""


def shop(name: str = "shop-web", maximum: int = 12) -> Autoscaler:
    """An autoscaler of two metrics with calm rules."""
    return Autoscaler(name, TargetRef("local", name), 2, maximum, (CPU_60, QUEUE), CALM)


class LivedPast:
    """Moments of a daemon that ran about a load; at some of them nothing was read, or no cycle ran."""

    origin = STATE

    def __init__(
        self,
        scaler: Autoscaler,
        load: Load,
        cycles: int,
        *,
        silent: Sequence[range] = (),
        failing: Sequence[range] = (),
        unreadable: Sequence[range] = (),
    ) -> None:
        """`silent`: cycles that were not run; `failing`: without a queue; `unreadable`: without the target."""
        self.name = scaler.name
        self._scaler, self._load, self._cycles = scaler, load, cycles
        self._silent, self._failing, self._unreadable = silent, failing, unreadable
        self.findings: Sequence[Finding] = ()

    @property
    def until(self) -> timedelta:
        """How long it is."""
        return self._cycles * self._scaler.sync_period

    def moments(self) -> Iterator[Moment]:
        """Every cycle, decided and written as a daemon does."""
        scaler, history, size = self._scaler, History(), 3
        watch = Watch(NOW, scaler.sync_period)
        born = [NOW - timedelta(days=1)] * size
        for number in range(self._cycles):
            now = NOW + number * scaler.sync_period
            if _in(number, self._silent):
                continue
            seen = self._seen(number, size, born)
            made = decide(scaler, seen, history, now)
            if made.change is not None:
                size = made.change.size
                born = [*born, *[now] * (size - len(born))] if size > len(born) else born[:size]
                made = conclude(made, Written(size))
            moment = Moment(now, seen, made, history, scaler)
            history = remember(scaler, history, made)
            watch.see(moment)
            yield moment
        watch.end(NOW + self.until)
        self.findings = watch.findings

    def _seen(self, number: int, size: int, born: Sequence[datetime]) -> Observation:
        now = NOW + number * self._scaler.sync_period
        load = self._load(number * self._scaler.sync_period / timedelta(minutes=1))
        instances = tuple(
            Instance(f"i-{place}", Phase.RUNNING, now >= since + START_UP, since + START_UP, since)
            for place, since in enumerate(born)
        )
        ready = sum(bool(each.ready) for each in instances) or 1
        each = min(round(load * 600 / ready), 1000)
        cpu = samples({instance.name: each if instance.ready else 10 for instance in instances}, now)
        queue = MetricError("Prometheus did not answer") if _in(number, self._failing) else None
        readings = (cpu, queue or ValueReading((round(load * 6_000),)))
        if _in(number, self._unreadable):
            return Observation(TargetUnavailable("the back end did not answer"), readings)
        return Observation(TargetState(size, size, instances), readings)


def _in(number: int, spans: Sequence[range]) -> bool:
    return any(number in span for span in spans)
