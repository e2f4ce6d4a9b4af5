"""Bounds, and how far one step may change the size.

Source: Kubernetes' documentation, "Horizontal Pod Autoscaling", scaling policies; autoscaling/v2 HPAScalingRules.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from autoscaler.model import (
    Autoscaler,
    Behavior,
    Limits,
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

    def too_few(self, desired: int) -> Step:
        """Return the step that raises the size to the minimum."""
        return Step(Reason.TOO_FEW_REPLICAS, desired, self.minimum, f"{self.minimum_of} is {self.minimum}")

    def too_many(self, desired: int) -> Step:
        """Return the step that lowers the size to the maximum."""
        return Step(Reason.TOO_MANY_REPLICAS, desired, self.maximum, f"{self.maximum_of} is {self.maximum}")

    def within(self, desired: int) -> Step:
        """Return the step that keeps the size."""
        return Step(Reason.DESIRED_WITHIN_RANGE, desired, desired, f"{self.minimum} to {self.maximum} is allowed")


def bounds_of(scaler: Autoscaler, override: Override | None, limits: Limits) -> Bounds:
    """Return the bounds in force, given an override and the target's own limits."""
    minimum, maximum = scaler.min_replicas, scaler.max_replicas
    minimum_of, maximum_of = "minReplicas", "maxReplicas"
    if override is not None and override.minimum is not None:
        minimum, minimum_of = override.minimum, f"the minimum set by {override.by}"
    if override is not None and override.maximum is not None:
        maximum, maximum_of = override.maximum, f"the maximum set by {override.by}"
    if limits.minimum > minimum:
        minimum, minimum_of = limits.minimum, f"the minimum of {limits.source}"
    if limits.maximum is not None and limits.maximum < maximum:
        maximum, maximum_of = limits.maximum, f"the maximum of {limits.source}"
    return Bounds(minimum, maximum, minimum_of, maximum_of)


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
