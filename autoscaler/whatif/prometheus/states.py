"""The state of a target at each step of a past in Prometheus: its size as it is told, its instances by their samples.

An instance is there while its metric has a sample. It counts as running and ready: what a back end says of readiness is
in no series.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from autoscaler.config.kept_labels import INSTANCE_LABELS, instance_labels
from autoscaler.errors import MetricError, TargetUnavailable
from autoscaler.model import Autoscaler, Instance, MetricSpec, MetricType, Phase, TargetState
from autoscaler.observe.answers import Answers
from autoscaler.observe.join import first_label, of_container, without_port
from autoscaler.observe.result import Point
from autoscaler.quantity import Milli


class States:
    """Asked for each step once, in order of time."""

    def __init__(self, scaler: Autoscaler, requests: Mapping[str, Milli]) -> None:
        """`requests`: what each instance has reserved."""
        self._scaler, self._requests = scaler, requests
        self._naming = naming_metric(scaler)
        self._there: dict[str, Instance] = {}
        self._size: int | None = None
        self._state: TargetState | None = None

    def at(self, now: datetime, size: int | None, answers: Answers) -> TargetState | TargetUnavailable:
        """The state at a time. `size`: what was asked for then; None: it is not known."""
        changed = self._follow(now, answers)
        if size is None:
            return TargetUnavailable(f"{self._scaler.target}: nothing in Prometheus tells which size it had")
        if changed or size != self._size or self._state is None:
            self._size, self._state = size, self._made(size, now)
        return self._state

    def _follow(self, now: datetime, answers: Answers) -> bool:
        """Whether other instances are there. A step without any sample tells of none, and changes nothing."""
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
            requests=self._requests,
        )

    def _made(self, size: int, now: datetime) -> TargetState:
        """More than were asked for: the newest leave. Fewer: the others are on their way."""
        surplus = len(self._there) - size
        newest = sorted(self._there.values(), key=lambda each: (each.started_at, each.name), reverse=True)
        leaving = {each.name for each in newest[: max(0, surplus)]}
        instances = [replace(each, deleting=each.name in leaving) for each in self._there.values()]
        if surplus < 0:
            phase = Phase.RUNNING if self._naming is None else Phase.PENDING
            name, ready = f"{-surplus} without a sample", phase is Phase.RUNNING
            instances.append(Instance(name, phase, ready, now, now, requests=self._requests, weight=-surplus))
        return TargetState(size, size, tuple(instances))


def naming_metric(scaler: Autoscaler) -> MetricSpec | None:
    """The metric whose samples tell which instances there were: the first that has one for each; None: none has."""
    per_instance = (each for each in scaler.metrics if each.type not in (MetricType.OBJECT, MetricType.EXTERNAL))
    return next(per_instance, None)


def _named(metric: MetricSpec, answers: Answers) -> Mapping[str, Point]:
    """The instances that have a sample now, each with one of its samples."""
    try:
        points: Sequence[Point] = answers.points(metric.query)
    except MetricError:
        return {}
    if metric.container is not None:
        points = of_container(points, metric.container, metric.container_label)
    names = instance_labels(metric.query.instance_label)
    return {name: point for point in points if (name := first_label(point.labels, names)[1])}


def _identities(point: Point, metric: MetricSpec | None) -> Sequence[str]:
    """All that another metric's sample may call it, as an adapter lists it: addresses with and without port."""
    names = INSTANCE_LABELS if metric is None else (*instance_labels(metric.query.instance_label), *INSTANCE_LABELS)
    values = [value for name in names if (value := point.labels.get(name))]
    return [*values, *map(without_port, values)]
