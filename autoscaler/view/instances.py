"""A target's instances, with their readiness and samples."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from autoscaler.document import Document, Seconds
from autoscaler.model import Instance, InstanceReading, MetricSpec, Phase, TargetState, TargetType
from autoscaler.rules import plan_of, set_aside
from autoscaler.rules.shown import ShownInstance
from autoscaler.view.notation import decimal, number
from autoscaler.view.parts import keys, memories_with, with_parts

if TYPE_CHECKING:  # the command line reads the daemon's documents without SQLAlchemy
    from autoscaler.record.values import Record

MAX_INSTANCES: Final = 50
"""The limit of a document. A target may have ten thousand."""


class InstanceValue(Document):
    """One metric's sample of one instance."""

    metric: str
    value: float | None
    """Percents of the request for Utilization, else the quantity; null: the instance has no usable sample."""
    text: str | None
    """The value as text: `63%`, `8.33`."""
    ratio: float | None
    """The value divided by the metric's target; null without a value."""


@with_parts(ShownInstance, behind=("detail",))
class InstanceDocument(Document):
    """One worker, task, allocation or machine."""

    name: str
    phase: Phase
    ready: bool
    """Whether decisions count it as ready: running, and not known to be unready."""
    deleting: bool
    """Whether it is being removed; then its samples are ignored."""
    warming: bool = False
    """Whether it runs and warms up; then its samples do not count."""
    started_at: datetime | None
    detail: str
    """The back end's text about its phase; may be empty."""
    values: tuple[InstanceValue, ...]
    """A value for each metric that is read per instance."""


INSTANCE_WORDS: Final = ("ready", "not ready", "warming up", "pending", "leaving", "failed")
"""The states of an instance. docs/concepts.md has their meanings."""


def word(instance: Instance | InstanceDocument) -> str:
    """Return the state of an instance, one of INSTANCE_WORDS, but for one that warms up."""
    if instance.deleting:
        return "leaving"
    if instance.phase is not Phase.RUNNING:
        return instance.phase.value.lower()
    return "not ready" if instance.ready is False else "ready"


def words(instance: InstanceDocument) -> str:
    """Return the state of an instance, as in INSTANCE_WORDS; `ready, warming up` of one that is both."""
    return f"{word(instance)}, warming up" if instance.warming else word(instance)


class InstanceList(Document):
    """The instances of one target; those that need attention are first."""

    at: datetime
    """When they were read."""
    instances: tuple[InstanceDocument, ...]
    """At most 50: failed, unready, pending, being removed, without a sample; then by the highest ratio."""
    total: int
    """The number of all instances."""
    ready: int
    """The number of ready instances."""
    warm_up_seconds: Seconds = timedelta(0)
    """The warm-up in force: the autoscaler's, else the target's own; 0: none."""


def instances(record: "Record") -> InstanceList | None:
    """Return the document; None: the target could not be read, or its instances are no longer known."""
    observed = record.observation
    if observed is None or not isinstance(observed.target, TargetState):
        return None
    readings = [
        (metric, reading)
        for metric, reading in zip(record.scaler.metrics, observed.readings, strict=True)
        if isinstance(reading, InstanceReading)
    ]
    aside = set_aside(plan_of(record.scaler.rules), observed.target, record.decision.now)
    own = [part.of_memory(memory) for memory, part in memories_with(record.decision, ShownInstance)]
    found = [_instance(each, readings, own, warming=each.name in aside.names) for each in observed.target.instances]
    return InstanceList(
        at=record.decision.now,
        instances=tuple(sorted(found, key=_urgency)[:MAX_INSTANCES]),
        total=len(found),
        ready=sum(each.ready for each in found),
        warm_up_seconds=aside.span,
    )


def _instance(
    instance: Instance,
    readings: Iterable[tuple[MetricSpec, InstanceReading]],
    own: Sequence[Mapping[str, ShownInstance]],
    *,
    warming: bool,
) -> InstanceDocument:
    runs = instance.phase is Phase.RUNNING and not instance.deleting
    return InstanceDocument.of(
        instance,
        ready=runs and instance.ready is not False,
        warming=warming,
        values=tuple([_value(instance.name, metric, reading) for metric, reading in readings]),
        **keys(of[instance.name] for of in own if instance.name in of),
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
    """Return the key that sorts instances that need attention first."""
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
