"""Bounds, and how far one step may change the size.

Source: Kubernetes' documentation, "Horizontal Pod Autoscaling", scaling policies; autoscaling/v2 HPAScalingRules.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from enum import IntEnum
from typing import Final, NamedTuple

from autoscaler.model import (
    Autoscaler,
    Behavior,
    Limits,
    OpenEntry,
    Override,
    PolicyType,
    Reason,
    ScaleEvent,
    ScalingRules,
    SelectPolicy,
    Step,
)


class Bounds(NamedTuple):
    """Sizes that both the autoscaler and the target allow. Empty if minimum > maximum."""

    minimum: int
    maximum: int
    minimum_of: str
    """What sets the minimum, for messages."""
    maximum_of: str
    minimum_scheduled: bool
    """Whether a schedule's minimum is in force, which counts as a recommendation."""
    maximum_scheduled: bool
    """Whether a schedule's maximum is in force, to which the size falls through `behavior`."""
    zero_waits: bool = False
    """Whether the autoscaler's own zero stays below this minimum until a metric has a value, as in Kubernetes.

    True for minReplicas alone. An autoscaler with schedules does not wait: they return to its minReplicas.
    """

    def as_proposal(self, desired: int) -> Step:
        """Return the step that brings a proposal of the metrics within the bounds of schedules."""
        if self.maximum_scheduled and desired > self.maximum:
            return self.too_many(desired)
        if self.minimum_scheduled and desired < self.minimum:
            return self.too_few(desired)
        return self.within(desired)

    def allow_zero(self, wakes: bool) -> bool:
        """Return whether the autoscaler leaves a size of 0 again. `wakes`: a metric has a value at 0."""
        return self.maximum == 0 or (self.minimum == 0 and wakes)

    def too_few(self, desired: int) -> Step:
        """Return the step that raises the size to the minimum."""
        return Step(Reason.TOO_FEW_REPLICAS, desired, self.minimum, f"{self.minimum_of} is {self.minimum}")

    def too_many(self, desired: int) -> Step:
        """Return the step that lowers the size to the maximum."""
        return Step(Reason.TOO_MANY_REPLICAS, desired, self.maximum, f"{self.maximum_of} is {self.maximum}")

    def within(self, desired: int) -> Step:
        """Return the step that keeps the size."""
        return Step(Reason.DESIRED_WITHIN_RANGE, desired, desired, f"{self.minimum} to {self.maximum} is allowed")


class _Source(IntEnum):
    """What sets a bound. Where a minimum is above a maximum, the bound of the higher source wins."""

    FILE = 0
    SCHEDULED_MAXIMUM = 1
    SCHEDULED_MINIMUM = 2
    OVERRIDE = 3


_SCHEDULED: Final = frozenset({_Source.SCHEDULED_MAXIMUM, _Source.SCHEDULED_MINIMUM})


class _Bound(NamedTuple):
    size: int
    of: str
    source: _Source = _Source.FILE


def bounds_of(
    scaler: Autoscaler,
    override: Override | None,
    schedules: Sequence[OpenEntry],
    limits: Limits,
    *,
    idle: bool = False,
) -> Bounds:
    """Return the bounds in force. Each is the override's, else the open schedules', else the configuration's.

    Of several open schedules the largest minimum and the smallest maximum count. The target's own `limits` narrow them.
    `idle`: the minimum is 0. With a cooldown it is at least 1 otherwise, because only idleness removes all instances.
    """
    minimum, maximum = _scheduled(scaler, schedules)
    if override is not None and override.minimum is not None:
        minimum = _Bound(override.minimum, f"the minimum set by {override.by}", _Source.OVERRIDE)
    if override is not None and override.maximum is not None:
        maximum = _Bound(override.maximum, f"the maximum set by {override.by}", _Source.OVERRIDE)
    if idle:
        minimum = _Bound(0, "idleReplicas")
    elif scaler.cooldown is not None and minimum.size == 0 < maximum.size:
        minimum = minimum._replace(size=1, of="the smallest size of an active target")
    if minimum.size > maximum.size and {minimum.source, maximum.source} & _SCHEDULED:
        if minimum.source > maximum.source:
            maximum = _Bound(minimum.size, minimum.of, maximum.source)
        else:
            minimum = _Bound(maximum.size, maximum.of, minimum.source)
    minimum, maximum = _narrowed(minimum, maximum, limits)
    return Bounds(
        minimum.size,
        maximum.size,
        minimum.of,
        maximum.of,
        minimum_scheduled=minimum.source is _Source.SCHEDULED_MINIMUM,
        maximum_scheduled=maximum.source is _Source.SCHEDULED_MAXIMUM,
        zero_waits=minimum.source is _Source.FILE
        and not (scaler.schedules or scaler.cooldown is not None or limits.minimum),
    )


def _scheduled(scaler: Autoscaler, schedules: Sequence[OpenEntry]) -> tuple[_Bound, _Bound]:
    """Return the bounds of the open schedules, else the configuration's."""
    minimum = _Bound(scaler.min_replicas, "minReplicas")
    maximum = _Bound(scaler.max_replicas, "maxReplicas")
    for each in schedules:
        if each.minimum is not None and (minimum.source is _Source.FILE or each.minimum > minimum.size):
            minimum = _Bound(each.minimum, f"the minimum of schedule {each.name}", _Source.SCHEDULED_MINIMUM)
        if each.maximum is not None and (maximum.source is _Source.FILE or each.maximum < maximum.size):
            maximum = _Bound(each.maximum, f"the maximum of schedule {each.name}", _Source.SCHEDULED_MAXIMUM)
    return minimum, maximum


def _narrowed(minimum: _Bound, maximum: _Bound, limits: Limits) -> tuple[_Bound, _Bound]:
    """Return the bounds within the target's own. A schedule's bound outside of them becomes theirs."""
    low, high = limits.minimum, limits.maximum
    if low > minimum.size:
        minimum = _Bound(low, f"the minimum of {limits.source}")
        if low > maximum.size and maximum.source is _Source.SCHEDULED_MAXIMUM:
            maximum = _Bound(low, minimum.of, maximum.source)
    if high is not None and high < maximum.size:
        maximum = _Bound(high, f"the maximum of {limits.source}")
        if high < minimum.size and minimum.source is _Source.SCHEDULED_MINIMUM:
            minimum = _Bound(high, maximum.of, minimum.source)
    return minimum, maximum


def limit_without_behavior(desired: int, current: int, bounds: Bounds) -> Step:
    """Apply the limits without `behavior`: one step rises to at most max(2 x current, 4)."""
    if desired < bounds.minimum:
        return bounds.too_few(desired)
    rise = max(2 * current, 4)
    if rise < bounds.maximum and desired > rise:
        return Step(Reason.SCALE_UP_LIMIT, desired, rise, f"one step from {current} ends at {rise}")
    return bounds.too_many(desired) if desired > bounds.maximum else bounds.within(desired)


def limit(
    desired: int,
    current: int,
    bounds: Bounds,
    behavior: Behavior,
    ups: Sequence[ScaleEvent],
    downs: Sequence[ScaleEvent],
    now: datetime,
) -> Step:
    """Apply the limits with `behavior`: the bounds, and what the policies still allow in their periods."""
    if desired > current:
        allowed = max(current, _scale_up_limit(current, behavior.scale_up, ups, downs, now))
        if allowed < bounds.maximum and desired > allowed:
            return Step(Reason.SCALE_UP_LIMIT, desired, allowed, f"the scaleUp policies allow {allowed} for now")
        if desired > bounds.maximum:
            return bounds.too_many(desired)
    elif desired < current:
        allowed = min(current, _scale_down_limit(current, behavior.scale_down, ups, downs, now))
        if allowed > bounds.minimum and desired < allowed:
            return Step(Reason.SCALE_DOWN_LIMIT, desired, allowed, f"the scaleDown policies allow {allowed} for now")
        if desired < bounds.minimum:
            return bounds.too_few(desired)
    return bounds.within(desired)


def _scale_up_limit(
    current: int, rules: ScalingRules, ups: Sequence[ScaleEvent], downs: Sequence[ScaleEvent], now: datetime
) -> int:
    if rules.select_policy is SelectPolicy.DISABLED:
        return current
    limits = []
    for policy in rules.policies:
        start = _period_start(current, ups, downs, now - policy.period)
        if policy.type is PolicyType.PODS:
            limits.append(start + policy.value)
        else:  # in floating point, as in Kubernetes: 1.1 x 10 rounds up to 12
            limits.append(math.ceil(start * (1 + policy.value / 100)))
    return min(limits) if rules.select_policy is SelectPolicy.MIN else max(limits)


def _scale_down_limit(
    current: int, rules: ScalingRules, ups: Sequence[ScaleEvent], downs: Sequence[ScaleEvent], now: datetime
) -> int:
    if rules.select_policy is SelectPolicy.DISABLED:
        return current
    limits = []
    for policy in rules.policies:
        start = _period_start(current, ups, downs, now - policy.period)
        if policy.type is PolicyType.PODS:
            limits.append(start - policy.value)
        else:  # truncated, as in Kubernetes: 7.2 becomes 7
            limits.append(int(start * (1 - policy.value / 100)))
    # Max selects the largest change, so the lowest size.
    return max(limits) if rules.select_policy is SelectPolicy.MIN else min(limits)


def _period_start(current: int, ups: Sequence[ScaleEvent], downs: Sequence[ScaleEvent], cutoff: datetime) -> int:
    """Return the size at the start of the period, from the changes since."""
    start = current
    for event in ups:
        if event.at > cutoff:
            start -= event.change
    for event in downs:
        if event.at > cutoff:
            start += event.change
    return start
