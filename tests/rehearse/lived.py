"""The lives that the judge is tested with."""

from collections.abc import Callable, Iterable
from datetime import timedelta

from autoscaler.model import (
    Autoscaler,
    Behavior,
    History,
    MetricSpec,
    MetricTarget,
    MetricType,
    PolicyType,
    Query,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetRef,
    TargetState,
    TargetType,
    later,
)
from autoscaler.record.values import Record
from rehearse.judge import Asked
from tests.decide.build import Life, value
from tests.record.samples import at
from tests.replaced import replace

WINDOW = timedelta(seconds=6)
LOADS = (2, *[9] * 8, *[3] * 16)
"""The loads, one a second: two rises and two falls, which policies separate. The first fall waits for the window."""


def rules(most: int, window: timedelta) -> ScalingRules:
    return ScalingRules(window, SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, most, WINDOW),))


SCALER = Autoscaler(
    "web",
    TargetRef("nomad", "web"),
    1,
    20,
    (MetricSpec(MetricType.EXTERNAL, "load", MetricTarget(TargetType.AVERAGE_VALUE, 1000), Query("load")),),
    Behavior(rules(4, timedelta(0)), rules(3, WINDOW)),
    sync_period=timedelta(seconds=1),
)


def forget_all(_: History) -> History:
    return History()


def forget_window(known: History) -> History:
    """Forget all but the newest recommendation."""
    return replace(known, hpa=replace(known.hpa, recommendations=known.hpa.recommendations[-1:]))


def lived(
    loads: Iterable[int] = LOADS,
    forgets_at: Iterable[int] = (),
    forget: Callable[[History], History] = forget_all,
    dies_at: int | None = None,
    set_at: int | None = None,
) -> tuple[list[Record], list[Asked]]:
    """Return a life: a cycle a second and its writes, from a size of 2. Before some it forgets; one is not recorded.

    Before one cycle the clock is set forward.
    """
    life, ahead = Life(SCALER, 2), timedelta(0)
    records, asked = [], list[Asked]()
    for second, load in enumerate(loads):
        if second in set(forgets_at):
            life.history = forget(life.history)
        if second == set_at:
            ahead = timedelta(minutes=10)
            life.history = later(life.history, ahead)
        life.now, size, known = at(second) + ahead, life.size, life.history
        made = life.step(value(load * 1000), target=TargetState(size, size, ()))
        if made.change is not None:
            grown = life.size - size
            asked.append(Asked(made.change.id, life.now, life.size, accepted=True, growth=grown))
        if second == dies_at:
            life.history = known
        else:
            records.append(Record(SCALER, made, life.observed, known))
    return records, asked
