"""How metrics are written: quantities for people, and as kubectl writes them for programs.

The layout is that of kubernetes/pkg/printers/internalversion, `formatHPAMetrics`.
"""

from collections.abc import Sequence
from typing import Final

from autoscaler.model import MetricOutcome, MetricTarget, MetricType, TargetType
from autoscaler.quantity import format_decimal, format_quantity

UNKNOWN: Final = "<unknown>"
"""Stands for the value of a metric that has none."""
_NAMED: Final = (MetricType.RESOURCE, MetricType.CONTAINER_RESOURCE)
_SUMMED: Final = (MetricType.OBJECT, MetricType.EXTERNAL)


def target(target: MetricTarget) -> str:
    """The value to hold, as kubectl writes it: `60%`, `30`, `500m`."""
    return f"{target.value}%" if target.type is TargetType.UTILIZATION else format_quantity(target.value)


def value(metric: MetricOutcome) -> str | None:
    """The current value as kubectl writes it, in the target's kind: `63%`, `37500m`; None when the metric failed."""
    if metric.failed:
        return None
    match metric.target.type:
        case TargetType.UTILIZATION:
            return None if metric.average_utilization is None else f"{metric.average_utilization}%"
        case TargetType.AVERAGE_VALUE:
            return None if metric.average_value is None else format_quantity(metric.average_value)
        case TargetType.VALUE:
            return None if metric.value is None else format_quantity(metric.value)


def plain(text: str) -> str:
    """What `target` or `value` returned, for people: `37500m` is 37.5, `60%` stays."""
    return format_decimal(int(text[:-1])) if text.endswith("m") else text


def ratio(metric: MetricOutcome) -> str:
    """Current against target, for people: `63%/60%`, `37.5/30 (avg)`, `<unknown>/15`."""
    averaged = metric.type in _SUMMED and metric.target.type is TargetType.AVERAGE_VALUE
    current = value(metric)
    return (
        f"{UNKNOWN if current is None else plain(current)}/{plain(target(metric.target))}{' (avg)' if averaged else ''}"
    )


def metric(outcome: MetricOutcome) -> str:
    """One entry of `kubectl get hpa`'s TARGETS: `cpu: 63%/60%`; only resources carry their names there."""
    return f"{outcome.name}: {ratio(outcome)}" if outcome.type in _NAMED else ratio(outcome)


def metrics(outcomes: Sequence[MetricOutcome], most: int = 2) -> str:
    """The whole TARGETS column: the first `most` and how many there are beside them (`… + 1 more...`)."""
    shown = ", ".join(map(metric, outcomes[:most])) or "<none>"
    return shown if len(outcomes) <= most else f"{shown} + {len(outcomes) - most} more..."
