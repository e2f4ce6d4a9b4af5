"""Bounds, and how far one step may change the size.

Source: Kubernetes' documentation, "Horizontal Pod Autoscaling", scaling policies; autoscaling/v2 HPAScalingRules.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from autoscaler.model import (
    HPA,
    Behavior,
    Bound,
    Bounds,
    PolicyType,
    Reason,
    ScaleEvent,
    ScalingRules,
    SelectPolicy,
    Step,
)


@lru_cache(maxsize=2**12)
def own_bounds(minimum: int, maximum: int) -> Bounds:
    """Return the bounds of a specification."""
    return Bounds(Bound(minimum, "minReplicas"), Bound(maximum, "maxReplicas"))


def within_recommended(desired: int, bounds: Bounds) -> Step | None:
    """Return the step that brings a proposal of the metrics within the bounds that also bound recommendations.

    None: the proposal is within them.
    """
    if bounds.maximum.recommended and desired > bounds.maximum.size:
        return too_many(desired, bounds.maximum)
    if bounds.minimum.recommended and desired < bounds.minimum.size:
        return too_few(desired, bounds.minimum)
    return None


def too_few(desired: int, minimum: Bound) -> Step:
    """Return the step that raises the size to the minimum."""
    detail = f"{minimum.of} is {minimum.size}"
    return Step(minimum.source, Reason.TOO_FEW_REPLICAS, desired, minimum.size, detail)


def too_many(desired: int, maximum: Bound) -> Step:
    """Return the step that lowers the size to the maximum."""
    detail = f"{maximum.of} is {maximum.size}"
    return Step(maximum.source, Reason.TOO_MANY_REPLICAS, desired, maximum.size, detail)


def _within(desired: int, bounds: Bounds) -> Step:
    detail = f"{bounds.minimum.size} to {bounds.maximum.size} is allowed"
    return Step(HPA, Reason.DESIRED_WITHIN_RANGE, desired, desired, detail)


def limit_without_behavior(desired: int, current: int, bounds: Bounds) -> Step:
    """Apply the limits without `behavior`: one step rises to at most max(2 x current, 4)."""
    if desired < bounds.minimum.size:
        return too_few(desired, bounds.minimum)
    rise = max(2 * current, 4)
    if rise < bounds.maximum.size and desired > rise:
        return Step(HPA, Reason.SCALE_UP_LIMIT, desired, rise, f"one step from {current} ends at {rise}")
    return too_many(desired, bounds.maximum) if desired > bounds.maximum.size else _within(desired, bounds)


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
        allowed = max(current, _reachable(current, behavior.scale_up, ups, downs, now, rising=True))
        if allowed < bounds.maximum.size and desired > allowed:
            return Step(HPA, Reason.SCALE_UP_LIMIT, desired, allowed, f"the scaleUp policies allow {allowed} for now")
        if desired > bounds.maximum.size:
            return too_many(desired, bounds.maximum)
    elif desired < current:
        allowed = min(current, _reachable(current, behavior.scale_down, ups, downs, now, rising=False))
        if allowed > bounds.minimum.size and desired < allowed:
            return Step(
                HPA, Reason.SCALE_DOWN_LIMIT, desired, allowed, f"the scaleDown policies allow {allowed} for now"
            )
        if desired < bounds.minimum.size:
            return too_few(desired, bounds.minimum)
    return _within(desired, bounds)


def _reachable(
    current: int,
    rules: ScalingRules,
    ups: Sequence[ScaleEvent],
    downs: Sequence[ScaleEvent],
    now: datetime,
    *,
    rising: bool,
) -> int:
    """Return how far the policies of one direction let the size go now."""
    if rules.select_policy is SelectPolicy.DISABLED:
        return current
    sign = 1 if rising else -1
    limits: list[int] = []
    for policy in rules.policies:
        start = _period_start(current, ups, downs, now - policy.period)
        if policy.type is PolicyType.PODS:
            limits.append(start + sign * policy.value)
        else:  # in floating point, as in Kubernetes: 1.1 x 10 rounds up to 12, and 7.2 is truncated to 7
            exact = start * (1 + sign * policy.value / 100)
            limits.append(math.ceil(exact) if rising else int(exact))
    selects_higher = rising is not (rules.select_policy is SelectPolicy.MIN)  # Max selects the largest change
    return max(limits) if selects_higher else min(limits)


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
