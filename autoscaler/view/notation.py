"""Texts of metrics: for readers, and in kubectl's notation for programs.

The layout is that of kubernetes/pkg/printers/internalversion, `formatHPAMetrics`.
"""

from collections.abc import Sequence
from typing import Final

from autoscaler.model import MetricOutcome, MetricTarget, MetricType, TargetType
from autoscaler.quantity import format_decimal, format_quantity

UNKNOWN: Final = "<unknown>"
"""The text in place of the value of a metric that failed."""
NOT_READ: Final = "<not read>"
"""The text in place of the value of a metric that the decision did not read, as outside the bounds."""
_NAMED: Final = (MetricType.RESOURCE, MetricType.CONTAINER_RESOURCE)
_SUMMED: Final = (MetricType.OBJECT, MetricType.EXTERNAL)


def target(target: MetricTarget) -> str:
    """Return the target in kubectl's notation: `60%`, `30`, `500m`."""
    return f"{target.value}%" if target.type is TargetType.UTILIZATION else format_quantity(target.value)


def value(metric: MetricOutcome) -> str | None:
    """Return the current value in kubectl's notation: `63%`, `37500m`; None: the metric failed."""
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
    """Return what `target` or `value` returned, for readers: `37500m` is 37.5, `60%` stays."""
    return format_decimal(int(text[:-1])) if text.endswith("m") else text


def is_averaged(kind: MetricType, target: TargetType) -> bool:
    """Return whether the value is a sum divided by the instances, which kubectl marks with `(avg)`."""
    return kind in _SUMMED and target is TargetType.AVERAGE_VALUE


def ratio(metric: MetricOutcome) -> str:
    """Return current and target for readers: `63%/60%`, `37.5/30 (avg)`, `75 in total/30 (avg)`, `<unknown>/15`,
    `<not read>/15`.
    """
    current, total = value(metric), metric.total
    known = absent(metric.error) if current is None else plain(current)
    known = known if total is None else f"{format_decimal(total)} in total"
    return f"{known}/{plain(target(metric.target))}{' (avg)' if is_averaged(metric.type, metric.target.type) else ''}"


def absent(error: str | None) -> str:
    """Return the text in place of a value that a metric does not have. `error`: why it failed; None: it did not."""
    return NOT_READ if error is None else UNKNOWN


def metric(outcome: MetricOutcome) -> str:
    """Return one entry of `kubectl get hpa`'s TARGETS: `cpu: 63%/60%`; only resources have their names there."""
    return f"{outcome.name}: {ratio(outcome)}" if outcome.type in _NAMED else ratio(outcome)


def metrics(outcomes: Sequence[MetricOutcome], most: int = 2) -> str:
    """Return the TARGETS column: the first `most`, and the number of others (`… + 1 more...`)."""
    shown = ", ".join(map(metric, outcomes[:most])) or "<none>"
    return shown if len(outcomes) <= most else f"{shown} + {len(outcomes) - most} more..."
