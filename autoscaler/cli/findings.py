"""The findings of `check --live` about one autoscaler, from a single observation. Pure functions."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from autoscaler.decide import decide
from autoscaler.errors import TargetError
from autoscaler.model import (
    Autoscaler,
    Decision,
    Failure,
    History,
    InstanceReading,
    MetricOutcome,
    MetricSpec,
    Observation,
    Reading,
    TargetState,
)
from autoscaler.observe.failure import Unsampled
from autoscaler.rules import propose
from autoscaler.text import count
from autoscaler.view.instances import word
from autoscaler.view.notation import against
from autoscaler.view.story import uncounted, why


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding."""

    label: str
    text: str
    wrong: bool = False
    """Whether it prevents the autoscaler from working."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings under one title."""

    title: str
    lines: Sequence[Finding]

    @property
    def wrong(self) -> bool:
        """Return whether something would not work."""
        return any(line.wrong for line in self.lines)


def findings_of(scaler: Autoscaler, seen: Observation, now: datetime) -> Iterator[Finding]:
    """Yield findings about the target, each metric, and the decision that a new autoscaler would make now."""
    state, readings = seen.target, list(_readings(scaler, seen))
    if isinstance(state, TargetError):
        yield Finding("target", str(state), wrong=True)
        yield from [Finding(label, str(each), wrong=True) for label, _, each in readings if isinstance(each, Failure)]
        return
    yield Finding("target", _target(state))
    for label, metric, reading in readings:
        yield _metric(label, propose(scaler, metric, reading, state, now), reading, state)
    if scaler.victims and scaler.victims.query and state.instances and not seen.victims:
        yield Finding(
            "victims", "the query failed or is empty, so the back end would choose the instances to remove", wrong=True
        )
    yield _now(decide(scaler, seen, History(), now), state)
    if state.reset_by:
        yield Finding("deployments", state.reset_by)
    for warning in state.warnings:
        yield Finding("warning", warning)


def _readings(scaler: Autoscaler, seen: Observation) -> Iterator[tuple[str, MetricSpec, Reading | Failure]]:
    """Yield what each metric and each fallback with a query reads, with its label."""
    for metric, reading in zip(scaler.metrics, seen.readings, strict=True):
        yield metric.name, metric, reading
    for metric, other in zip(scaler.metrics, seen.fallbacks, strict=False):  # empty: none has a query
        if other is not None:
            yield f"fallback of {metric.name}", metric, other


def _target(state: TargetState) -> str:
    if state.not_started:
        return f"not started yet: the daemon starts it with the size {state.replicas}"
    text = f"size {state.replicas}, {count(len(state.instances), 'instance')}"
    kinds = Counter(map(word, state.instances))
    phases = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    return f"{text}: {phases}" if phases else text


def _metric(label: str, outcome: MetricOutcome, reading: Reading | Failure, state: TargetState) -> Finding:
    """Return what a metric reads and asks for. That nothing runs yet to be measured is not wrong."""
    if outcome.error is None:
        told = [f"{against(outcome)}, {outcome.detail} -> {outcome.proposal}", *uncounted(outcome)]
        unmeasured = ["most instances have no usable sample"] if outcome.mostly_missing else []
        return Finding(label, "; ".join([*told, *unmeasured]), outcome.mostly_missing)
    of_instances = outcome.type.per_instance
    begins = state.not_started and of_instances and isinstance(reading, Unsampled | InstanceReading)
    broken = isinstance(reading, Failure) or state.replicas > 0
    return Finding(label, outcome.error, wrong=broken and not begins)


def _now(decision: Decision, state: TargetState) -> Finding:
    if decision.desired is None and state.not_started:
        return Finding("now", "would wait for the first instances")
    return Finding("now", why(decision), wrong=decision.desired is None)
