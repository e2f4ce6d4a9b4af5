"""A few series for each autoscaler, made from its latest decision at each scrape."""

import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from autoscaler.isolation import each
from autoscaler.metrics.words import Action, action_of
from autoscaler.model import Autoscaler, Decision, DrainOutcome, MetricOutcome, MetricTarget, TargetType

_METRIC: Final = ("autoscaler", "metric", "metric_type", "target_type")
_MOVES: Final = (Action.SCALE_UP, Action.SCALE_DOWN)


@dataclass(slots=True)
class _Known:
    """The counters of one autoscaler."""

    scaler: Autoscaler
    decision: Decision | None = None
    succeeded: float = 0.0
    """Unix time of the last cycle without a failure; 0: none since the start."""
    rescales: tuple[int, int] = (0, 0)
    """Written sizes: up, down."""
    last_move: Action = Action.NONE
    """Direction of the last written size; NONE: none since the start."""
    turns: int = 0
    """Written sizes in the opposite direction of the previous one."""
    drained: Mapping[DrainOutcome, int] = field(default_factory=dict)
    """Drains that ended."""


def _following(scaler: Autoscaler, had: _Known | None) -> _Known:
    """Return what is known of an autoscaler. `had`: under its name, before the configuration changed."""
    if had is None or had.scaler.target != scaler.target:
        return _Known(scaler)
    had.scaler = scaler
    return had


class Latest(Collector):
    """The configured autoscalers and their latest decisions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: Mapping[str, _Known] = {}

    def follow(self, scalers: Sequence[Autoscaler]) -> None:
        """Follow the configured autoscalers. Forget others, and decisions about targets that they no longer have."""
        with self._lock:
            before = self._known
            self._known = {scaler.name: _following(scaler, before.get(scaler.name)) for scaler in scalers}

    def decided(self, decisions: Sequence[Decision]) -> None:
        """Keep the latest decisions of configured autoscalers."""
        with self._lock:
            for made in decisions:
                known = self._known.get(made.name)
                if known is None or known.scaler.target != made.target:
                    continue
                known.decision = made
                if made.error is None:
                    known.succeeded = made.now.timestamp()
                action = action_of(made.written, made.current)
                up, down = known.rescales
                known.rescales = up + (action is Action.SCALE_UP), down + (action is Action.SCALE_DOWN)
                if action in _MOVES:
                    known.turns += known.last_move not in (Action.NONE, action)
                    known.last_move = action
                ended = Counter(each.outcome for each in made.drains if each.outcome and each.ended == made.now)
                known.drained = Counter(known.drained) + ended

    def warnings(self) -> Mapping[str, str]:
        """Return autoscaler's name -> the first warning of its target, of those that have one."""
        with self._lock:
            made = {name: known.decision for name, known in self._known.items()}
        return {name: one.warnings[0] for name, one in made.items() if one is not None and one.warnings}

    def describe(self) -> Sequence[Metric]:
        """Return nothing, so that the registration does not collect."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield every series."""
        with self._lock:
            known = [
                (each.scaler, each.decision, each.succeeded, each.rescales, each.turns, each.drained)
                for each in self._known.values()
            ]
        decisions = [decision for _, decision, *_ in known if decision is not None]
        configured = _gauge("autoscalers", "Autoscalers that this daemon serves.")
        configured.add_metric((), len(known))
        info = _gauge(
            "info",
            "Always 1: what an autoscaler scales, and whether it is a dry run.",
            "autoscaler",
            "adapter",
            "target",
            "dry_run",
        )
        labels = _gauge("labels", "Always 1: an autoscaler's labels; no series without any.")
        period = _gauge("sync_period_seconds", "How often an autoscaler decides.", "autoscaler")
        succeeded = _gauge(
            "last_success_timestamp_seconds",
            "When its last cycle without any failure ended; 0 before the first since the start.",
            "autoscaler",
        )
        rescales = CounterMetricFamily("autoscaler_rescales", "Written sizes.", labels=("autoscaler", "action"))
        turned = CounterMetricFamily(
            "autoscaler_direction_changes",
            "Written sizes in the other direction than the previous one.",
            labels=("autoscaler",),
        )
        braked = _gauge(
            "brake_active", "1 while a configured brake is on, else 0.",
            *("autoscaler", "brake"),
        )  # fmt: skip
        drains = _gauge("drains", "Instances whose drain is under way.", "autoscaler")
        oldest = _gauge("drain_oldest_seconds", "Age of the oldest drain under way; 0 without one.", "autoscaler")
        timeout = _gauge("drain_timeout_seconds", "When an instance is let go, drained or not.", "autoscaler")
        drained = CounterMetricFamily("autoscaler_drains_ended", "Ended drains.", labels=("autoscaler", "outcome"))
        for scaler, decision, success, counts, turns, ended in known:
            name = scaler.name
            mine = {"autoscaler": name}
            info.add_metric((name, scaler.target.adapter, scaler.target.name, str(scaler.dry_run).lower()), 1)
            if scaler.labels:
                labels.add_sample(labels.name, {**mine, **_label_names(scaler.labels)}, 1)
            period.add_sample(period.name, mine, scaler.sync_period.total_seconds())
            succeeded.add_sample(succeeded.name, mine, success)
            for action, count in zip(_MOVES, counts, strict=True):
                rescales.add_metric((name, action), count)
            turned.add_metric((name,), turns)
            on = () if decision is None else [each.brake for each in decision.brakes]
            for brake in scaler.brakes.configured:
                braked.add_metric((name, brake), brake in on)
            if scaler.drain is not None:
                ages = [] if decision is None else decision.drain_ages
                drains.add_metric((name,), len(ages))
                oldest.add_metric((name,), max(ages, default=timedelta(0)).total_seconds())
                timeout.add_metric((name,), scaler.drain.timeout.total_seconds())
                for outcome in DrainOutcome:
                    drained.add_metric((name, outcome), ended.get(outcome, 0))
        yield from (configured, info, labels, period, succeeded, rescales, turned, braked)
        yield from (drains, oldest, timeout, drained)
        latest = _LatestFamilies()
        each(decisions, latest.add, {})  # an error of one autoscaler does not affect the others' series
        yield from latest.families


class _LatestFamilies:
    """The series of the latest decisions."""

    def __init__(self) -> None:
        self._current = _gauge(
            "current_replicas", "The target's size; no series while it cannot be read.", "autoscaler"
        )
        self._desired = _gauge(
            "desired_replicas", "The decided size; no series while none can be decided.", "autoscaler"
        )
        self._minimum = _gauge("min_replicas", "The lower bound in force.", "autoscaler")
        self._maximum = _gauge("max_replicas", "The upper bound in force.", "autoscaler")
        self._condition = _gauge(
            "condition", "1 while the condition is true, 0 while it is false.", "autoscaler", "condition", "reason"
        )
        self._value = _gauge(
            "metric_value", "A metric's value; utilization as a ratio; no series while it has none.", *_METRIC
        )
        self._target = _gauge("metric_target", "A metric's target; utilization as a ratio.", *_METRIC)
        self._failed = _gauge("metric_failed", "1 while a metric has no value.", *_METRIC)
        self._missing = _gauge(
            "metric_missing_ratio", "Share of the running instances without a usable sample.", *_METRIC
        )
        self._fallback = _gauge(
            "metric_fallback_active", "1 while a metric has no value and its fallback applies.", *_METRIC
        )
        self._unmatched = _gauge(
            "unmatched_samples", "Samples that match none of its instances, or several.", "autoscaler"
        )
        self._paused = _gauge(
            "paused", "1 while an operator's pause prevents scaling out, in, or both.", "autoscaler", "direction"
        )

    @property
    def families(self) -> Sequence[Metric]:
        """Return all families."""
        return (
            self._current, self._desired, self._minimum, self._maximum,
            self._condition, self._value, self._target, self._failed, self._missing,
            self._fallback,
            self._unmatched, self._paused,
        )  # fmt: skip

    def add(self, made: Decision) -> None:
        """Add the series of one autoscaler. Equal labels are shared, because there are many series."""
        labels = {"autoscaler": made.name}
        for family, size in (
            (self._current, made.current), (self._desired, made.desired),
            (self._minimum, made.minimum), (self._maximum, made.maximum),
        ):  # fmt: skip
            if size is not None:
                family.add_sample(family.name, labels, size)
        for condition in made.conditions:
            self._condition.add_metric((made.name, condition.type, condition.reason), condition.status)
        for metric, names in zip(made.metrics, _labels(made), strict=True):
            self._add_metric(metric, dict(zip(_METRIC, names, strict=True)))
        strangers = sum(len(metric.unmatched) + metric.more_unmatched for metric in made.metrics)
        self._unmatched.add_sample(self._unmatched.name, labels, strangers)
        if made.steering.pause is not None:
            self._paused.add_metric((made.name, made.steering.pause.direction), 1)

    def _add_metric(self, metric: MetricOutcome, labels: dict[str, str]) -> None:
        current, missing = _value(metric), metric.missing_ratio
        for family, value in (
            (self._value, None if current is None else _in_units(current, metric.target)),
            (self._target, _in_units(metric.target.value, metric.target)),
            (self._failed, metric.failed),
            (self._missing, missing),
            (self._fallback, 1 if metric.on_fallback else None),
        ):
            if value is not None:
                family.add_sample(family.name, labels, value)


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"autoscaler_{name}", text, labels=labels)


def _labels(made: Decision) -> Sequence[tuple[str, ...]]:
    """Return each metric's labels. Metrics of the same name and kind also get their position."""
    found: list[tuple[str, ...]] = []
    for position, metric in enumerate(made.metrics, start=1):
        labels = (made.name, metric.name, metric.type, metric.target.type)
        if labels in found:
            labels = (made.name, f"{metric.name}#{position}", metric.type, metric.target.type)
        found.append(labels)
    return found


def _label_names(labels: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """Return labels with names that Prometheus accepts, converted as kube-state-metrics does.

    Two keys with the same converted name (`a.b` and `a_b`) get their position appended, as in kube-state-metrics.
    """
    found = dict[str, str]()
    for key, value in labels:
        name = f"label_{re.sub('[^A-Za-z0-9_]', '_', key)}"
        position = 1
        unique = name
        while unique in found:
            unique, position = f"{name}_conflict{position}", position + 1
        found[unique] = value
    return found


def _value(metric: MetricOutcome) -> int | None:
    """Return the current value in the target's kind; None when the metric failed."""
    if metric.failed:
        return None
    if metric.target.type is TargetType.UTILIZATION:
        return metric.average_utilization
    return metric.average_value if metric.target.type is TargetType.AVERAGE_VALUE else metric.value


def _in_units(value: int, target: MetricTarget) -> float:
    """Convert percents to a ratio and thousandths to units."""
    return value / (100 if target.type is TargetType.UTILIZATION else 1000)
