"""Decisions for tests."""

from datetime import UTC, datetime
from typing import Any

from autoscaler.model import (
    Bound,
    Bounds,
    Condition,
    ConditionType,
    Decision,
    Memories,
    MetricOutcome,
    MetricTarget,
    MetricType,
    Remembered,
    ScaleChange,
    Status,
    TargetRef,
    TargetType,
)
from tests.replaced import replace

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
SIXTY_PERCENT = MetricTarget(TargetType.UTILIZATION, 60)


def condition(type_: str, reason: str, *, status: bool = True) -> Condition:
    return Condition(type_, status, reason, f"because of {reason}", NOW)


def cpu(percent: int | None = 63) -> MetricOutcome:
    error = None if percent is not None else "no answer"
    return MetricOutcome("cpu", MetricType.RESOURCE, SIXTY_PERCENT, average_utilization=percent, error=error)


def decision(name: str = "web", **changes: Any) -> Decision:
    """Return a steady decision: 3 replicas, and they are enough."""
    made = Decision(
        name=name,
        target=TargetRef("fleet", f"{name}-asg"),
        now=NOW,
        dry_run=False,
        current=3,
        desired=3,
        change=None,
        conditions=(
            condition(ConditionType.ABLE_TO_SCALE, "ReadyForNewScale"),
            condition(ConditionType.SCALING_ACTIVE, "ValidMetricFound"),
            condition(ConditionType.SCALING_LIMITED, "DesiredWithinRange", status=False),
        ),
        events=(),
        metrics=(cpu(),),
        trace=(),
        remembered=Remembered(Status(3, 3)),
    )
    return replace(made, **changes)


def bounds(minimum: int, maximum: int) -> Bounds:
    """Return the bounds of a configuration."""
    return Bounds(Bound(minimum, "minReplicas"), Bound(maximum, "maxReplicas"))


def remembering(made: Decision, **changes: Any) -> Decision:
    """Return the decision with these changes to what the next cycle remembers of it. `rules`: by the rule's name."""
    if "rules" in changes:
        changes["rules"] = Memories(changes["rules"])
    return replace(made, remembered=replace(made.remembered, **changes))


def rescale(name: str = "web", size: int = 5, **changes: Any) -> Decision:
    """Return a decision that is to be written."""
    change = ScaleChange(f"{name}-1", size, 3, None, "cpu resource utilization above target")
    return decision(name, desired=size, change=change, **changes)
