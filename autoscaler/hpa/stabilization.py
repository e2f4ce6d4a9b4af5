"""Stabilization keeps the size from flapping, by recent recommendations.

Source: Kubernetes' documentation, "Horizontal Pod Autoscaling", stabilization window.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from autoscaler.model import HPA, Autoscaler, Reason, Recommendation, Step
from autoscaler.quantity import format_age, format_duration


def down_window(scaler: Autoscaler) -> timedelta:
    """Return the scale-down stabilization window in force."""
    given = None if scaler.behavior is None else scaler.behavior.scale_down.stabilization_window
    return scaler.options.downscale_stabilization if given is None else given


def up_window(scaler: Autoscaler) -> timedelta:
    """Return the scale-up stabilization window in force."""
    given = None if scaler.behavior is None else scaler.behavior.scale_up.stabilization_window
    return timedelta(0) if given is None else given


def stabilize_down(desired: int, recommendations: Sequence[Recommendation], window: timedelta, now: datetime) -> Step:
    """Apply the algorithm without `behavior`: the highest recommendation in the window."""
    cutoff = now - window
    highest = desired
    for recommendation in recommendations:
        if recommendation.replicas > highest and recommendation.at >= cutoff:
            highest = recommendation.replicas
    if highest == desired:
        return Step(HPA, Reason.READY_FOR_NEW_SCALE, desired, desired, "no higher recommendation in the window")
    detail = _kept(highest, recommendations, window, now)
    return Step(HPA, Reason.SCALE_DOWN_STABILIZED, desired, highest, detail)


def stabilize(
    desired: int,
    current: int,
    recommendations: Sequence[Recommendation],
    up_window: timedelta,
    down_window: timedelta,
    now: datetime,
) -> Step:
    """Apply the algorithm with `behavior`.

    The size rises at most to the lowest recommendation in the scale-up window, and falls at most to the highest one in
    the scale-down window.
    """
    up_cutoff, down_cutoff = now - up_window, now - down_window
    lowest = highest = desired
    for recommendation in recommendations:
        at, replicas = recommendation.at, recommendation.replicas
        if replicas < lowest and at > up_cutoff:
            lowest = replicas
        if replicas > highest and at > down_cutoff:
            highest = replicas
    stabilized = min(max(current, lowest), highest)
    if stabilized == desired:
        return Step(HPA, Reason.READY_FOR_NEW_SCALE, desired, desired, "no other recommendation in the window")
    if desired >= current:
        detail = _kept(lowest, recommendations, up_window, now)
        return Step(HPA, Reason.SCALE_UP_STABILIZED, desired, stabilized, detail)
    detail = _kept(highest, recommendations, down_window, now)
    return Step(HPA, Reason.SCALE_DOWN_STABILIZED, desired, stabilized, detail)


def _kept(size: int, recommendations: Sequence[Recommendation], window: timedelta, now: datetime) -> str:
    """Return which recommendation keeps the size: `6 was recommended 3m ago, within the window of 5m`."""
    latest = max([each.at for each in recommendations if each.replicas == size])
    return f"{size} was recommended {format_age(now - latest)} ago, within the window of {format_duration(window)}"
