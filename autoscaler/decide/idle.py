"""Idleness: a target without instances while nothing is active.

Source: KEDA's documentation, "ScaledObject specification", idleReplicaCount and cooldownPeriod, and "Scaling
Deployments", activation. That idleness does not begin while a metric has no value is this project's addition.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from autoscaler.decide.proposals import WAKING_METRICS, describe
from autoscaler.model import (
    ConditionType,
    History,
    MetricOutcome,
    MetricType,
    OpenEntry,
    Override,
    Reason,
    TargetState,
)
from autoscaler.quantity import format_duration


class Activity(NamedTuple):
    """Whether anything needs instances in this cycle."""

    active: bool
    message: str
    since: datetime
    """Of one that is not active: the last activity."""
    idle: str = ""
    """Why the target is idle; empty: it is not."""

    @property
    def reason(self) -> Reason:
        """Return the reason of the condition Active."""
        return Reason.ACTIVE if self.active else Reason.NOT_ACTIVE


def with_activity(outcomes: Sequence[MetricOutcome], before: Sequence[MetricOutcome]) -> tuple[MetricOutcome, ...]:
    """Return the outcomes with the activity of failed metrics: active on a fallback, else as in the outcomes before.

    Of several metrics with one type and name, an active one counts.
    """
    known = dict[tuple[MetricType, str], bool | None]()
    for each in before:
        known[each.type, each.name] = known.get((each.type, each.name)) or each.active
    return tuple(
        [
            replace(outcome, active=outcome.on_fallback or known.get((outcome.type, outcome.name)))
            if _has_no_value(outcome)
            else outcome
            for outcome in outcomes
        ]
    )


def _has_no_value(outcome: MetricOutcome) -> bool:
    return outcome.failed and outcome.type in WAKING_METRICS


def follow_activity(
    cooldown: timedelta,
    outcomes: Sequence[MetricOutcome],
    schedules: Sequence[OpenEntry],
    override: Override | None,
    state: TargetState,
    history: History,
    now: datetime,
) -> Activity:
    """Return the activity of an autoscaler with this cooldown. `outcomes`: those of `with_activity`."""
    known = next((each for each in history.conditions if each.type is ConditionType.ACTIVE), None)
    cause = _cause(outcomes, schedules, override)
    if cause:
        return Activity(True, cause, now if known is None or not known.status else known.last_transition)
    since = now if known is None else known.last_transition if not known.status else history.at or now
    message = "no metric is above its activation"
    waits = now - since < cooldown or any(map(_has_no_value, outcomes))
    if waits and state.replicas > state.limits.minimum:
        return Activity(False, message, since)
    last = f"{since.isoformat(timespec='seconds')}, and the cooldown is {format_duration(cooldown)}"
    return Activity(False, message, since, f"{message}; the last activity was at {last}")


def _cause(outcomes: Sequence[MetricOutcome], schedules: Sequence[OpenEntry], override: Override | None) -> str:
    """Return what is active; empty: nothing."""
    for each in outcomes:
        if each.active:
            without = "; it has no value" if each.failed else ""
            what = "its fallback is in effect" if each.on_fallback else f"it is above its activation{without}"
            return f"{describe(each)}: {what}"
    for entry in schedules:
        if entry.minimum:
            return f"the minimum of schedule {entry.name} is {entry.minimum}"
    if override is not None and override.minimum:
        return f"the minimum set by {override.by} is {override.minimum}"
    return ""
