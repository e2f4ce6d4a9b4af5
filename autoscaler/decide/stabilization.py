"""Stabilization: recent recommendations keep the size from flapping.

Source: Kubernetes' documentation, "Horizontal Pod Autoscaling", stabilization window.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from autoscaler.model import Recommendation, Slot, Step
from autoscaler.quantity import format_duration


def stabilize_down(
    desired: int, recommendations: Sequence[Recommendation], window: timedelta, now: datetime
) -> tuple[Step, Slot[Recommendation]]:
    """The algorithm without `behavior`: the highest recommendation of the window, and what to remember."""
    cutoff = now - window
    highest, slot = desired, len(recommendations)
    for index, recommendation in enumerate(recommendations):
        if recommendation.at < cutoff:
            slot = index
        elif recommendation.replicas > highest:
            highest = recommendation.replicas
    changed = highest != desired
    return (
        Step(
            "ScaleDownStabilized" if changed else "ReadyForNewScale",
            desired,
            highest,
            f"highest recommendation of the last {format_duration(window)}" if changed else "nothing higher of late",
        ),
        Slot(slot, Recommendation(desired, now)),
    )


def stabilize(
    desired: int,
    current: int,
    recommendations: Sequence[Recommendation],
    up_window: timedelta,
    down_window: timedelta,
    now: datetime,
) -> tuple[Step, Slot[Recommendation]]:
    """The algorithm with `behavior`, and what to remember.

    The size moves up only as far as the lowest recommendation of the scale-up window and down only as far as the
    highest of the scale-down window.
    """
    up_cutoff, down_cutoff = now - up_window, now - down_window
    lowest = highest = desired
    slot = len(recommendations)
    for index, recommendation in enumerate(recommendations):
        at, replicas = recommendation.at, recommendation.replicas
        if at > up_cutoff and replicas < lowest:
            lowest = replicas
        if at > down_cutoff and replicas > highest:
            highest = replicas
        if at < up_cutoff and at < down_cutoff:
            slot = index
    stabilized = min(max(current, lowest), highest)
    remembered = Slot(slot, Recommendation(desired, now))
    if stabilized == desired:
        return Step("ReadyForNewScale", desired, desired, "no other recommendation in the window"), remembered
    if desired >= current:
        told = f"lowest recommendation of the last {format_duration(up_window)}"
        return Step("ScaleUpStabilized", desired, stabilized, told), remembered
    told = f"highest recommendation of the last {format_duration(down_window)}"
    return Step("ScaleDownStabilized", desired, stabilized, told), remembered
