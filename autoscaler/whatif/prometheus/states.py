"""The state of a target at each step of a past from Prometheus: a given size, and the instances that have samples.

An instance exists while its metric has a sample, and counts as running and ready: no series has the readiness that a
back end reports.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from autoscaler.errors import MetricError, TargetUnavailable
from autoscaler.fields.kept_labels import INSTANCE_LABELS, instance_labels
from autoscaler.model import Autoscaler, Instance, MetricSpec, Phase, TargetState
from autoscaler.observe.answers import Answers
from autoscaler.observe.join import address, first_label, of_container
from autoscaler.observe.result import Point


class States:
    """Computes the state at each step, in order of time."""

    def __init__(self, scaler: Autoscaler) -> None:
        self._scaler = scaler
        self._naming = naming_metric(scaler)
        self._there: dict[str, Instance] = {}
        self._size: int | None = None
        self._state: TargetState | None = None

    def at(self, now: datetime, size: int | None, answers: Answers) -> TargetState | TargetUnavailable:
        """The state at a time. `size`: the desired size at that time; None if it is unknown."""
        changed = self._follow(now, answers)
        if size is None:
            return TargetUnavailable(f"{self._scaler.target}: Prometheus does not know its size")
        if changed or size != self._size or self._state is None:
            self._size, self._state = size, self._made(size, now)
        return self._state

    def _follow(self, now: datetime, answers: Answers) -> bool:
        """Update the instances; return whether they changed. A step without any sample changes nothing."""
        if self._naming is None:
            return False
        found = _named(self._naming, answers)
        if not found or found.keys() == self._there.keys():
            return False
        self._there = {
            name: self._there.get(name) or self._instance(name, point, now) for name, point in sorted(found.items())
        }
        return True

    def _instance(self, name: str, point: Point, now: datetime) -> Instance:
        return Instance(
            name,
            Phase.RUNNING,
            ready=True,
            ready_transition=now,
            started_at=now,
            identities=frozenset(_identities(point, self._naming)),
        )

    def _made(self, size: int, now: datetime) -> TargetState:
        """If there are more instances than the size, the newest leave. If there are fewer, the others are starting."""
        surplus = len(self._there) - size
        newest = sorted(self._there.values(), key=lambda each: (each.started_at, each.name), reverse=True)
        leaving = {each.name for each in newest[: max(0, surplus)]}
        instances = [replace(each, deleting=each.name in leaving) for each in self._there.values()]
        if surplus < 0:
            phase = Phase.RUNNING if self._naming is None else Phase.PENDING
            name, ready = f"{-surplus} without a sample", phase is Phase.RUNNING
            instances.append(Instance(name, phase, ready, now, now, weight=-surplus))
        return TargetState(size, size, tuple(instances))


def naming_metric(scaler: Autoscaler) -> MetricSpec | None:
    """The metric whose samples name the instances: the first per-instance metric; None if there is none."""
    per_instance = (each for each in scaler.metrics if each.type.per_instance)
    return next(per_instance, None)


def _named(metric: MetricSpec, answers: Answers) -> Mapping[str, Point]:
    """The instances that have a sample, each with one of its samples."""
    try:
        points: Sequence[Point] = answers.points(metric.query)
    except MetricError:
        return {}
    if metric.container is not None:
        points = of_container(points, metric.container, metric.container_label)
    names = instance_labels(metric.query.instance_label)
    return {name: point for point in points if (name := first_label(point.labels, names)[1])}


def _identities(point: Point, metric: MetricSpec | None) -> Sequence[str]:
    """The names that other metrics may use for it, as adapters list them: addresses with and without port."""
    names = INSTANCE_LABELS if metric is None else (*instance_labels(metric.query.instance_label), *INSTANCE_LABELS)
    values = [value for name in names if (value := point.labels.get(name))]
    return [*values, *(address(value)[0] for value in values)]
