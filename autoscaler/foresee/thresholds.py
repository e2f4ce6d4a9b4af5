"""The values at which a metric begins to ask for another size: found by asking `decide` itself."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from autoscaler.model import (
    Autoscaler,
    Failure,
    InstanceReading,
    MetricOutcome,
    MetricSpec,
    Reading,
    TargetState,
    TargetType,
    ValueReading,
)
from autoscaler.quantity import MAX_MILLI
from autoscaler.rules import propose


@dataclass(frozen=True, slots=True)
class Thresholds:
    """One metric's, with all else as it was: instances, their readiness, the size.

    Values are kept as a target's: whole percents for Utilization, else thousandths.
    """

    above: int | None
    """Above it the metric asks for more; None: no value does."""
    below: int | None
    """Below it the metric asks for less; None: no value does."""
    reading_above: Reading | None
    """What the metric would read just above; for trying out what a decision would make of it."""
    reading_below: Reading | None


def thresholds(
    scaler: Autoscaler,
    spec: MetricSpec,
    reading: Reading | Failure,
    outcome: MetricOutcome,
    state: TargetState,
    now: datetime,
) -> Thresholds | None:
    """Return the thresholds of one metric; None when it failed, or its proposal does not rise with its value.

    That is so while more or fewer instances exist than the size says: then HPA's arithmetic can ask
    for less at a high value, or for more at a low one.
    """
    if outcome.failed or isinstance(reading, Failure) or not _settled(spec, outcome, state):
        return None
    with_total = _totals(reading, outcome)
    if with_total is None:
        return None

    def at(total: int) -> MetricOutcome:
        return propose(scaler, spec, with_total(total), state, now)

    def asks_for_more(total: int) -> bool:
        proposal = at(total).proposal
        return proposal is not None and proposal > state.replicas

    def keeps_or_more(total: int) -> bool:
        proposal = at(total).proposal
        return proposal is not None and proposal >= state.replicas

    first_above, first_kept = _first(asks_for_more), _first(keeps_or_more)
    more = first_above if first_above is not None and first_above > 0 else None
    less = first_kept if first_kept is not None and first_kept > 0 else None
    return Thresholds(
        above=None if more is None else at(more - 1).current,
        below=None if less is None else at(less).current,
        reading_above=None if first_above is None else with_total(first_above),
        reading_below=None if less is None else with_total(less - 1),
    )


def _settled(spec: MetricSpec, outcome: MetricOutcome, state: TargetState) -> bool:
    """Whether the instances that HPA counts are as many as the size."""
    if spec.type.per_instance:
        weights = {instance.name: instance.weight for instance in state.instances}
        others = sum(weights.get(name, 1) for name in (*outcome.not_ready, *outcome.missing, *outcome.aside))
        return outcome.ready + others == state.replicas
    if spec.target.type is TargetType.AVERAGE_VALUE or state.replicas == 0:
        return True
    return outcome.ready == state.replicas


def _totals(reading: Reading, outcome: MetricOutcome) -> Callable[[int], Reading] | None:
    """The same reading with another total: all that the arithmetic looks at. None without a sample that counts."""
    if isinstance(reading, ValueReading):
        return lambda total: ValueReading((total,))
    passed_over = {*outcome.not_ready, *outcome.missing, *outcome.aside, *outcome.ignored}
    counted = [name for name in reading.samples if name not in passed_over]
    if not counted:
        return None
    first, samples = counted[0], dict(reading.samples)
    empty = {name: replace(samples[name], value=0) for name in counted}

    def with_total(total: int) -> InstanceReading:
        return replace(reading, samples=samples | empty | {first: replace(samples[first], value=total)})

    return with_total


def _first(holds: Callable[[int], bool]) -> int | None:
    """The lowest total from 0 for which it holds, given that it then holds for every higher one."""
    low, high = 0, 1
    while not holds(high):
        low, high = high, high * 2
        if high > MAX_MILLI:
            return None
    if holds(0):
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
