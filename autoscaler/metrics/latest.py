"""A few series for each autoscaler, made from its latest decision at each scrape."""

import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Final

from prometheus_client import Metric

from autoscaler.isolation import each
from autoscaler.metrics.families import counter, gauge
from autoscaler.metrics.words import Action, action_of
from autoscaler.model import Autoscaler, Decision, DrainOutcome, MetricTarget, TargetType
from autoscaler.rules.brakes import Brakes, active_brakes
from autoscaler.rules.drain import DrainRule, drains_of

_GAUGES: Final = {
    "autoscalers": "Autoscalers that this daemon serves.",
    "info": "Always 1: what an autoscaler scales, and whether it is a dry run.",
    "labels": "Always 1: an autoscaler's labels; no series without any.",
    "sync_period_seconds": "How often an autoscaler decides.",
    "last_success_timestamp_seconds": "When its last cycle without any failure ended; 0 before the first since the "
    "start.",
    "brake_active": "1 while a configured brake is on, else 0.",
    "drains": "Instances whose drain is under way.",
    "drain_oldest_seconds": "Age of the oldest drain under way; 0 without one.",
    "drain_timeout_seconds": "When an instance is let go, drained or not.",
    "current_replicas": "The target's size; no series while it cannot be read.",
    "desired_replicas": "The decided size; no series while none can be decided.",
    "min_replicas": "The lower bound in force.",
    "max_replicas": "The upper bound in force.",
    "condition": "1 while the condition is true, 0 while it is false.",
    "metric_value": "A metric's value; utilization as a ratio; no series while it has none.",
    "metric_target": "A metric's target; utilization as a ratio.",
    "metric_failed": "1 while a metric has no value.",
    "metric_missing_ratio": "Share of the running instances without a usable sample.",
    "metric_fallback_active": "1 while a metric has no value and its fallback applies.",
    "unmatched_samples": "Samples that match none of its instances, or several.",
    "paused": "1 while an operator's pause prevents scaling out, in, or both.",
}
_COUNTERS: Final = {
    "rescales": "Written sizes.",
    "direction_changes": "Written sizes in the other direction than the previous one.",
    "drains_ended": "Ended drains.",
}
_MOVES: Final = (Action.SCALE_UP, Action.SCALE_DOWN)


@dataclass(slots=True)
class _Known:
    """The counters of one autoscaler."""

    scaler: Autoscaler
    decision: Decision | None = None
    succeeded: float = 0.0
    """Unix time of the last cycle without a failure; 0: none since the start."""
    rescales: Mapping[Action, int] = field(default_factory=dict)
    """Written sizes."""
    last_move: Action = Action.NONE
    """Direction of the last written size; NONE: none since the start."""
    turns: int = 0
    """Written sizes in the opposite direction of the previous one."""
    drained: Mapping[DrainOutcome, int] = field(default_factory=dict)
    """Drains that ended."""


class Latest:
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
                if action in _MOVES:
                    known.rescales = Counter(known.rescales) + Counter([action])
                    known.turns += known.last_move not in (Action.NONE, action)
                    known.last_move = action
                drains = drains_of(made.remembered.rules.of)
                if drains:
                    ended = [each.outcome for each in drains if each.outcome and each.ended == made.now]
                    known.drained = Counter(known.drained) + Counter(ended)

    def warnings(self) -> Mapping[str, str]:
        """Return autoscaler's name -> the first warning of its target, of those that have one."""
        with self._lock:
            made = {name: known.decision for name, known in self._known.items()}
        return {name: one.warnings[0] for name, one in made.items() if one is not None and one.warnings}

    def collect(self) -> Iterable[Metric]:
        """Return every family."""
        with self._lock:
            known = [replace(each) for each in self._known.values()]
        found = _Families()
        found.add("autoscalers", {}, len(known))
        for one in known:
            _add_configured(found, one)
        decisions = [one.decision for one in known if one.decision is not None]
        each(decisions, partial(_add_decision, found), {})  # an error of one autoscaler does not affect the others
        return found.families.values()


class _Families:
    """The families of one scrape."""

    def __init__(self) -> None:
        gauges = {name: gauge(name, text, {}) for name, text in _GAUGES.items()}
        self.families: Final = gauges | {f"{name}_total": counter(name, text, {}) for name, text in _COUNTERS.items()}

    def add(self, name: str, labels: dict[str, str], value: float | None) -> None:
        """Add a series, unless it has no value. Equal labels may be shared, because there are many series."""
        if value is not None:
            self.families[name].add_sample(f"autoscaler_{name}", labels, value)


def _following(scaler: Autoscaler, had: _Known | None) -> _Known:
    """Return what is known of an autoscaler. `had`: under its name, before the configuration changed."""
    if had is None or had.scaler.target != scaler.target:
        return _Known(scaler)
    had.scaler = scaler
    return had


def _add_configured(found: _Families, known: _Known) -> None:
    """Add the series that a configured autoscaler has from the start."""
    scaler, made = known.scaler, known.decision
    mine = {"autoscaler": scaler.name}
    target = {"adapter": scaler.target.adapter, "target": scaler.target.name}
    found.add("info", {**mine, **target, "dry_run": str(scaler.dry_run).lower()}, 1)
    if scaler.labels:
        found.add("labels", {**mine, **_label_names(scaler.labels)}, 1)
    found.add("sync_period_seconds", mine, scaler.sync_period.total_seconds())
    found.add("last_success_timestamp_seconds", mine, known.succeeded)
    for action in _MOVES:
        found.add("rescales_total", {**mine, "action": action}, known.rescales.get(action, 0))
    found.add("direction_changes_total", mine, known.turns)
    brakes, drain = scaler.rules.find(Brakes), scaler.rules.find(DrainRule)
    if brakes is not None:
        on = () if made is None else [each.brake for each in active_brakes(made.remembered.rules.of)]
        for each in brakes.all:
            found.add("brake_active", {**mine, "brake": each.brake}, each.brake in on)
    if drain is not None:
        open_drains = () if made is None else drains_of(made.remembered.rules.of)
        ages = [made.now - each.began for each in open_drains if made is not None and each.ended is None]
        found.add("drains", mine, len(ages))
        found.add("drain_oldest_seconds", mine, max(ages, default=timedelta(0)).total_seconds())
        found.add("drain_timeout_seconds", mine, drain.timeout.total_seconds())
        for outcome in DrainOutcome:
            found.add("drains_ended_total", {**mine, "outcome": outcome}, known.drained.get(outcome, 0))


def _add_decision(found: _Families, made: Decision) -> None:
    """Add the series of an autoscaler's latest decision."""
    mine = {"autoscaler": made.name}
    found.add("current_replicas", mine, made.current)
    found.add("desired_replicas", mine, made.desired)
    found.add("min_replicas", mine, made.minimum)
    found.add("max_replicas", mine, made.maximum)
    for condition in made.conditions:
        of = {**mine, "condition": condition.type, "reason": condition.reason}
        found.add("condition", of, condition.status)
    for metric, labels in zip(made.metrics, _labels(made), strict=True):
        value = None if metric.failed else metric.current
        found.add("metric_value", labels, None if value is None else _in_units(value, metric.target))
        found.add("metric_target", labels, _in_units(metric.target.value, metric.target))
        found.add("metric_failed", labels, metric.failed)
        found.add("metric_missing_ratio", labels, metric.missing_ratio)
        found.add("metric_fallback_active", labels, 1 if metric.on_fallback else None)
    found.add("unmatched_samples", mine, sum(len(each.unmatched) + each.more_unmatched for each in made.metrics))
    if made.manual.pause is not None:
        found.add("paused", {**mine, "direction": made.manual.pause.direction}, 1)


def _labels(made: Decision) -> Sequence[dict[str, str]]:
    """Return each metric's labels. Metrics of the same name and kind also get their position."""
    found: list[dict[str, str]] = []
    for position, metric in enumerate(made.metrics, start=1):
        kind = {"metric_type": metric.type, "target_type": metric.target.type}
        labels = {"autoscaler": made.name, "metric": metric.name, **kind}
        found.append({**labels, "metric": f"{metric.name}#{position}"} if labels in found else labels)
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


def _in_units(value: int, target: MetricTarget) -> float:
    """Convert percents to a ratio and thousandths to units."""
    return value / (100 if target.type is TargetType.UTILIZATION else 1000)
