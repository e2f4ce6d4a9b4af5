"""Calculates replicas from usage: the ratio, the tolerance, and HPA's conservative second calculation.

Source: Kubernetes' documentation, "Horizontal Pod Autoscaling", algorithm details. All values are thousandths. Averages
truncate to thousandths and utilization to whole percents before the ratio is calculated.

Proposals and utilization are int32 and values are 63 bits, as in pkg/controller/podautoscaler/replica_calculator.go.
Larger results become the maximum; the controller's casts would make them small or negative.
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from autoscaler.errors import MetricError
from autoscaler.hpa.instances import Groups
from autoscaler.model import MAX_SIZE, Instance
from autoscaler.quantity import MAX_MILLI, Milli, format_decimal, sum_of
from autoscaler.text import count


class Tolerances(NamedTuple):
    """How far the ratio may be from 1 in each direction without a change."""

    down: float
    up: float

    def holds(self, ratio: float) -> bool:
        """Return whether a usage ratio is close enough to 1. NaN is not."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up

    def words(self, ratio: float) -> str:
        """Return why a ratio asks for no change: `within the tolerance of 10 %`."""
        return f"within the tolerance of {100 * (self.up if ratio > 1.0 else self.down):g} %"


class Usage(NamedTuple):
    """A set of samples compared with the target."""

    ratio: float
    average: Milli | None
    """Average per unit; None without units."""
    utilization: int | None = None
    """Whole percents of the requests."""


class Assumption(NamedTuple):
    """The usage of an instance without a usable sample, if the others indicate a scale-in."""

    words: str
    """`the target`, `100 % of the request`."""
    of: Callable[[Instance], Milli]


class Proposal(NamedTuple):
    """What one metric asks for."""

    replicas: int
    usage: Usage
    """The measured usage, before assumptions about missing and unready instances."""
    detail: str
    """The arithmetic in words: "ratio 1.300 x 3 ready"."""
    demand: int | None
    """What it asks for if no ratio is within the tolerance; None: for want of samples it keeps the current size."""


def usage_of_average(weights: Mapping[str, int], target: Milli) -> Callable[[Mapping[str, int]], Usage]:
    """Compare usage with an average value per unit. `weights`: instances that weigh more than 1."""

    def usage(values: Mapping[str, int]) -> Usage:
        average = sum_of(values.values()) // _units(values, weights)
        return Usage(average / target, average)

    return usage


def usage_of_requests(
    requests: Mapping[str, Milli], weights: Mapping[str, int], target_percent: int
) -> Callable[[Mapping[str, int]], Usage]:
    """Compare usage with a percentage of the requests. Raises MetricError if all requests are zero."""

    def usage(values: Mapping[str, int]) -> Usage:
        measured = [name for name in values if name in requests]
        total, requested = sum_of([values[name] for name in measured]), sum_of([requests[name] for name in measured])
        units = _units(measured, weights)
        if requested == 0:
            raise MetricError("the requests of the measured instances add up to 0; set `request` above 0")
        percent = min(total * 100 // requested, MAX_SIZE)
        return Usage(percent / target_percent, total // units, percent)

    return usage


def _units(names: Collection[str], weights: Mapping[str, int]) -> int:
    return sum(weights.get(name, 1) for name in names) if weights else len(names)


def _replicas(exact: float) -> int:
    """Round up."""
    return min(math.ceil(exact), MAX_SIZE)


def per_instance(
    current: int,
    groups: Groups,
    weights: Mapping[str, int],
    usage_of: Callable[[Mapping[str, int]], Usage],
    assumption: Assumption,
    tolerances: Tolerances,
) -> Proposal:
    """Return the proposal of a metric with one sample per instance.

    Instances without a sample, or whose sample is set aside, count as `assumption` if the others indicate a scale-in,
    and as 0 if they indicate a scale-out.
    Unready instances count as 0 for a scale-out. If these assumptions reverse the direction, the size stays. Raises
    MetricError if no sample counts.
    """
    if not groups.samples:
        raise MetricError("no sample of a ready instance; look at the instances' readiness and at the query")
    usage = usage_of(groups.samples)
    ratio = usage.ratio
    out = ratio > 1.0
    unready_matter = bool(groups.not_ready) and out
    unmeasured = [*groups.missing, *groups.aside]
    if not unready_matter and not unmeasured:
        demand = _replicas(ratio * groups.ready)
        if tolerances.holds(ratio):
            return Proposal(current, usage, tolerances.words(ratio), demand)
        return Proposal(demand, usage, f"ratio {ratio:.3f} x {groups.ready} ready", demand)
    if ratio == 1.0:  # no assumptions are made
        return Proposal(current, usage, tolerances.words(ratio), None)

    values = dict(groups.samples)
    values |= {instance.name: 0 if out else assumption.of(instance) for instance in unmeasured}
    if unready_matter:
        values |= dict.fromkeys((instance.name for instance in groups.not_ready), 0)
    careful = usage_of(values).ratio
    assumed = _assumed(groups, unready_matter=unready_matter, usage="0" if out else assumption.words)
    replicas = _replicas(careful * _units(values, weights))
    reversed_ = (careful > 1.0) is not out or (replicas < current if out else replicas > current)
    if tolerances.holds(careful) or reversed_:
        stays = "no change" if reversed_ else tolerances.words(careful)
        return Proposal(current, usage, f"ratio {careful:.3f}, {assumed}: {stays}", None if reversed_ else replicas)
    return Proposal(replicas, usage, f"ratio {careful:.3f} x {_units(values, weights)}, {assumed}", replicas)


def _assumed(groups: Groups, *, unready_matter: bool, usage: str) -> str:
    """Format, for example, `assuming that 1 instance without a sample is at the target`."""
    unready = groups.not_ready if unready_matter else ()
    counted = ((groups.missing, "without a sample"), (groups.aside, groups.set_aside.word), (unready, "not ready"))
    who = [f"{count(len(instances), 'instance')} {what}" for instances, what in counted if instances]
    one = sum(len(instances) for instances, _ in counted) == 1
    return f"assuming that {' and '.join(who)} {'is' if one else 'are'} at {usage}"


def whole_value(current: int, value: Milli, target: Milli, ready: int, tolerances: Tolerances) -> Proposal:
    """Return the proposal for one value against `value`, multiplied by the ready units unless the size is 0."""
    ratio = value / target
    usage = Usage(ratio, value)
    demand = _replicas(ratio * ready) if current else _replicas(ratio)
    if current == 0:
        return Proposal(demand, usage, f"ratio {ratio:.3f}, from zero", demand)
    if tolerances.holds(ratio):
        return Proposal(current, usage, tolerances.words(ratio), demand)
    return Proposal(demand, usage, f"ratio {ratio:.3f} x {ready} ready", demand)


def shared_value(status_replicas: int, value: Milli, target: Milli, tolerances: Tolerances) -> Proposal:
    """Return the proposal for one value against `averageValue`, divided by the existing replicas."""
    demand = _replicas(value / target)
    detail = f"{format_decimal(value)} in total, {format_decimal(target)} for each"
    if status_replicas == 0:
        ratio = math.inf if value else math.nan
        return Proposal(demand, Usage(ratio, None), detail, demand)
    ratio = value / (target * status_replicas)
    usage = Usage(ratio, min(math.ceil(value / status_replicas), MAX_MILLI))
    if tolerances.holds(ratio):
        return Proposal(status_replicas, usage, tolerances.words(ratio), demand)
    return Proposal(demand, usage, detail, demand)
