"""One metric: numbers for charts, decimals for readers, and texts in kubectl's notation."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from autoscaler.document import Document
from autoscaler.model import MetricOutcome, MetricSpec, MetricType, TargetType
from autoscaler.text import count as count_of
from autoscaler.text import listed
from autoscaler.view import notation
from autoscaler.view.notation import decimal, number

_NAMED: Final = 3
"""Instances that a text lists."""


class MetricDocument(Document):
    """A metric's current value against its target."""

    name: str
    type: MetricType
    target_type: TargetType
    current: str | None
    """In kubectl's notation: `63%`, `37500m`; null: the metric failed or was not queried."""
    target: str
    text: str
    """Both for readers, as in `kubectl get hpa`'s TARGETS: `cpu: 63%/60%`, `37.5/30 (avg)`; `<unknown>/15` of a metric
    that failed, `<not read>/15` of one that the decision did not need."""
    value: float | None
    """`current` as a number: percents for Utilization, else the quantity."""
    target_value: float
    error: str | None
    """Why there is no value."""
    total: float | None = None
    """The value as a number if it has no average, because there are no instances; else null."""
    missing: int = 0
    """Running instances without a usable sample; 0 if the metric failed, or is not read per instance."""
    warming: int = 0
    """Running instances that warm up, so that their samples do not count; else as `missing`."""
    on_fallback: bool = False
    """Whether the metric has no value and its fallback is in force."""


_MetricT = TypeVar("_MetricT", bound=MetricDocument)


def metric(outcome: MetricOutcome, kind: type[_MetricT], **others: Any) -> _MetricT:
    """Return the document of one outcome, of this kind, with its other fields."""
    return kind.of(
        outcome,
        **others,
        target_type=outcome.target.type,
        current=notation.value(outcome),
        target=notation.target(outcome.target),
        text=notation.metric(outcome),
        value=number(outcome.current, outcome.target.type),
        target_value=number(outcome.target.value, outcome.target.type),
        total=number(outcome.total, outcome.target.type),
        missing=len(outcome.missing),
        warming=len(outcome.aside),
    )


def metrics(outcomes: Sequence[MetricOutcome], specs: Sequence[MetricSpec]) -> tuple[MetricDocument, ...]:
    """Return the metrics of a decision; if it read none, those of `specs` without values."""
    return tuple([metric(outcome, MetricDocument) for outcome in outcomes or map(unread, specs)])


def unmeasured(outcomes: Sequence[MetricOutcome]) -> str | None:
    """Return which instances have no usable sample, such as `4 of 5 instances have no sample of inflight: web-2, …`,
    and which warm up.

    None: the sample of every running instance counts for each metric.
    """
    texts = []
    for outcome in outcomes:
        count = len(outcome.missing)
        if count:
            have = "has" if count == 1 else "have"
            names = listed(outcome.missing, _NAMED)
            texts.append(f"{count} of {outcome.running} instances {have} no sample of {outcome.name}: {names}")
        if outcome.aside:
            warming = count_of(len(outcome.aside), "instance warms up", "instances warm up")
            texts.append(f"{warming}: {listed(outcome.aside, _NAMED)}")
    return "; ".join(dict.fromkeys(texts)) or None


def unread(spec: MetricSpec) -> MetricOutcome:
    """Return an outcome without a value."""
    return MetricOutcome(spec.name, spec.type, spec.target)


def current_words(metric: MetricDocument) -> str:
    """Return a metric's current value for readers, else `<unknown>` or `<not read>`."""
    return notation.current(metric.value, metric.total, metric.target_type, metric.error)


def target_decimal(metric: MetricDocument) -> str:
    """Return a metric's target for readers."""
    return decimal(metric.target_value, metric.target_type)


def is_averaged(metric: MetricDocument) -> bool:
    """Return whether readers see `(avg)` behind a metric's target."""
    return notation.is_averaged(metric.type, metric.target_type)
