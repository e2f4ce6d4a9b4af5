"""A target's instances with their readiness and what each of them measured, as the last cycle read them."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from autoscaler.documents.base import Document
from autoscaler.documents.metric import decimal, number
from autoscaler.model import (
    Instance,
    InstanceReading,
    MetricSpec,
    Phase,
    TargetState,
    TargetType,
)

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record import Record

MOST_INSTANCES: Final = 50
"""In a document: a target may have ten thousand."""


class InstanceValue(Document):
    """What one instance measured of one metric."""

    metric: str
    value: float | None
    """Percents of the request for Utilization, else the quantity itself; null: the instance has no usable sample."""
    text: str | None
    """The same for reading: `63%`, `8.33`."""
    ratio: float | None
    """Of the metric's target; null without a value."""


class InstanceDocument(Document):
    """One worker, task, allocation or machine."""

    name: str
    phase: Phase
    ready: bool
    """As decisions count it: running, and not known to be unready."""
    deleting: bool
    """On its way out: its samples are ignored."""
    started_at: datetime | None
    detail: str
    """Why it is pending or not ready, in the back end's words; may be empty."""
    values: tuple[InstanceValue, ...]
    """One for each metric that is read per instance."""


class InstanceList(Document):
    """The instances of one target, those that need attention first."""

    at: datetime
    """When they were read."""
    instances: tuple[InstanceDocument, ...]
    """At most 50: failed, unready, pending, on their way out, without a sample; then by the highest ratio."""
    total: int
    """How many there are."""
    ready: int
    """How many of all are ready."""


def instances(record: "Record") -> InstanceList | None:
    """The document; None: the target could not be read, or what was seen of it is no longer known."""
    observed = record.observation
    if observed is None or not isinstance(observed.target, TargetState):
        return None
    readings = [
        (metric, reading)
        for metric, reading in zip(record.scaler.metrics, observed.readings, strict=True)
        if isinstance(reading, InstanceReading)
    ]
    found = [_instance(each, readings) for each in observed.target.instances]
    return InstanceList(
        at=record.decision.now,
        instances=tuple(sorted(found, key=_urgency)[:MOST_INSTANCES]),
        total=len(found),
        ready=sum(each.ready for each in found),
    )


def _instance(instance: Instance, readings: Iterable[tuple[MetricSpec, InstanceReading]]) -> InstanceDocument:
    return InstanceDocument.of(
        instance,
        ready=instance.phase is Phase.RUNNING and instance.ready is not False and not instance.deleting,
        values=tuple([_value(instance.name, metric, reading) for metric, reading in readings]),
    )


def _value(name: str, metric: MetricSpec, reading: InstanceReading) -> InstanceValue:
    kind, sample = metric.target.type, reading.samples.get(name)
    value = None if sample is None else number(sample.value, kind)
    if value is not None and kind is TargetType.UTILIZATION:
        request = reading.requests.get(name)
        value = 100 * value / request if request else None
    if value is None:
        return InstanceValue(metric=metric.name, value=None, text=None, ratio=None)
    goal = number(metric.target.value, kind)
    return InstanceValue(
        metric=metric.name, value=value, text=decimal(value, kind), ratio=value / goal if goal else None
    )


def _urgency(instance: InstanceDocument) -> tuple[int, float, str]:
    """Sorts what needs attention to the front."""
    missing = any(each.value is None for each in instance.values)
    troubles: Sequence[bool] = (
        instance.phase is Phase.FAILED,
        instance.phase is Phase.RUNNING and not instance.ready and not instance.deleting,
        instance.phase is Phase.PENDING,
        instance.deleting,
        missing,
    )
    rank = troubles.index(True) if True in troubles else len(troubles)
    return rank, -max((each.ratio for each in instance.values if each.ratio is not None), default=0.0), instance.name
