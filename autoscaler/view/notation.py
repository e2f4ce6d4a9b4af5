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


def scale_of(kind: TargetType) -> int:
    """Return the divisor from a kept whole number to its unit."""
    return 1 if kind is TargetType.UTILIZATION else 1000


def number(value: int | None, kind: TargetType) -> float | None:
    """Return a metric's value, kept as thousandths or percent, as a number in its own unit."""
    return None if value is None else value / scale_of(kind)


def decimal(value: float, kind: TargetType) -> str:
    """Return a value in its unit for readers: `63%`, `8.33`."""
    return f"{value:.0f}%" if kind is TargetType.UTILIZATION else format_decimal(round(value * 1000))


def target(target: MetricTarget) -> str:
    """Return the target in kubectl's notation: `60%`, `30`, `500m`."""
    return _kubectl(target.value, target.type)


def value(metric: MetricOutcome) -> str | None:
    """Return the current value in kubectl's notation: `63%`, `37500m`; None: the metric failed."""
    return None if metric.failed or metric.current is None else _kubectl(metric.current, metric.target.type)


def _kubectl(value: int, kind: TargetType) -> str:
    return f"{value}%" if kind is TargetType.UTILIZATION else format_quantity(value)


def plain(text: str) -> str:
    """Return what `target` or `value` returned, for readers: `37500m` is 37.5, `60%` stays."""
    return format_decimal(int(text[:-1])) if text.endswith("m") else text


def is_averaged(kind: MetricType, target: TargetType) -> bool:
    """Return whether the value is a sum divided by the instances, which kubectl marks with `(avg)`."""
    return not kind.per_instance and target is TargetType.AVERAGE_VALUE


def current(value: float | None, total: float | None, kind: TargetType, error: str | None) -> str:
    """Return a metric's current value for readers: `8.33`, `25 in total`; `<unknown>` if it failed, else `<not read>`.

    `total`: the value if it has no average. `error`: why the metric failed; None: it did not.
    """
    if total is not None:
        return f"{decimal(total, kind)} in total"
    return decimal(value, kind) if value is not None else NOT_READ if error is None else UNKNOWN


def reading(outcome: MetricOutcome) -> str:
    """Return what a metric reads against its target: `inflight 13 of 10`, `queue 45 in total of 15`."""
    return f"{outcome.name} {against(outcome)}"


def against(outcome: MetricOutcome) -> str:
    """Return a metric's value against its target, without its name: `13 of 10`."""
    return " of ".join(_against(outcome))


def metric(outcome: MetricOutcome) -> str:
    """Return one entry of `kubectl get hpa`'s TARGETS: `cpu: 63%/60%`, `37.5/30 (avg)`, `75 in total/30 (avg)`.

    `<unknown>/15` of a metric that failed, `<not read>/15` of one that was not read. Only resources have their names.
    """
    name = f"{outcome.name}: " if outcome.type in _NAMED else ""
    average = " (avg)" if is_averaged(outcome.type, outcome.target.type) else ""
    return f"{name}{'/'.join(_against(outcome))}{average}"


def _against(outcome: MetricOutcome) -> tuple[str, str]:
    """Return current value and target for readers."""
    kind = outcome.target.type
    known = current(number(outcome.current, kind), number(outcome.total, kind), kind, outcome.error)
    return known, decimal(outcome.target.value / scale_of(kind), kind)


def metrics(outcomes: Sequence[MetricOutcome], most: int = 2) -> str:
    """Return the TARGETS column: the first `most`, and the number of others (`… + 1 more...`)."""
    shown = ", ".join(map(metric, outcomes[:most])) or "<none>"
    return shown if len(outcomes) <= most else f"{shown} + {len(outcomes) - most} more..."
