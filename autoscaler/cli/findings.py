"""The findings of `check --live` about one autoscaler, from a single observation. Pure functions."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

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
    MetricType,
    Observation,
    Phase,
    Reading,
    TargetState,
    ValueReading,
)
from autoscaler.observe.failure import Unsampled
from autoscaler.quantity import format_decimal
from autoscaler.rules import propose
from autoscaler.text import count, listed
from autoscaler.view.instances import word
from autoscaler.view.story import why

_OF_NO_INSTANCE: Final = (MetricType.OBJECT, MetricType.EXTERNAL)
_NAMED: Final = 3
"""Instances or samples that a line lists; it counts the others."""


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


def findings_of(scaler: Autoscaler, seen: Observation, now: datetime) -> Findings:
    """Return findings about the target, each metric, and the decision that a new autoscaler would make now."""
    return Findings(f"{scaler.name} on {scaler.target}", tuple(_lines(scaler, seen, now)))


def _lines(scaler: Autoscaler, seen: Observation, now: datetime) -> Iterator[Finding]:
    state = seen.target
    if isinstance(state, TargetError):
        yield Finding("target", str(state), wrong=True)
        for metric, reading in zip(scaler.metrics, seen.readings, strict=True):
            yield _unjoined(metric, reading)
        for metric, other in _fallbacks(scaler, seen):
            yield _of_fallback(_unjoined(metric, other))
        return
    yield Finding("target", _target(state))
    for metric, reading in zip(scaler.metrics, seen.readings, strict=True):
        yield _metric(reading, propose(scaler, metric, reading, state, now), state)
    for metric, other in _fallbacks(scaler, seen):
        outcome = propose(scaler, metric, other, state, now)
        yield _of_fallback(_metric(other, outcome, state))
    if scaler.victims and scaler.victims.query and state.instances and not seen.victims:
        yield Finding(
            "victims", "the query failed or is empty, so the back end would choose the instances to remove", wrong=True
        )
    yield _now(decide(scaler, seen, History(), now), state)
    if state.reset_by:
        yield Finding("deployments", state.reset_by)
    for warning in state.warnings:
        yield Finding("warning", warning)


def _fallbacks(scaler: Autoscaler, seen: Observation) -> Iterator[tuple[MetricSpec, Reading | Failure]]:
    """Yield the metrics whose fallback has a query, and its reading."""
    for spec, reading in zip(scaler.metrics, seen.fallbacks, strict=False):  # empty: none has a query
        if reading is not None:
            yield spec, reading


def _of_fallback(found: Finding) -> Finding:
    return Finding(f"fallback of {found.label}", found.text, found.wrong)


def _target(state: TargetState) -> str:
    if state.not_started:
        return f"not started yet: the daemon starts it with the size {state.replicas}"
    text = f"size {state.replicas}, {count(len(state.instances), 'instance')}"
    kinds = Counter(map(word, state.instances))
    phases = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    return f"{text}: {phases}" if phases else text


def _unjoined(metric: MetricSpec | MetricOutcome, reading: Reading | Failure) -> Finding:
    """A metric of a target that could not be read."""
    if isinstance(reading, InstanceReading):
        return Finding(metric.name, f"{count(_strangers(reading), 'sample')}, with no instance to join them to")
    if isinstance(reading, Failure):
        return Finding(metric.name, str(reading), wrong=True)
    return Finding(metric.name, _values(reading))


def _metric(reading: Reading | Failure, outcome: MetricOutcome, state: TargetState) -> Finding:
    if isinstance(reading, Failure):
        begins = state.not_started and isinstance(reading, Unsampled) and outcome.type not in _OF_NO_INSTANCE
        return Finding(outcome.name, str(reading), wrong=not begins)
    if isinstance(reading, InstanceReading) and state.not_started:
        return _unjoined(outcome, reading)
    if isinstance(reading, InstanceReading) and not reading.samples and reading.unmatched and outcome.error:
        return Finding(outcome.name, outcome.error, wrong=state.replicas > 0)  # it says which did not join with what
    text = _values(reading) if isinstance(reading, ValueReading) else _joined(reading, state)
    if outcome.mostly_missing:
        return Finding(outcome.name, f"{text}: most instances have no usable sample", wrong=True)
    # without instances there is nothing to measure, and that is not wrong
    wrong = outcome.failed and state.replicas > 0
    return Finding(outcome.name, f"{text}; {outcome.error}" if wrong else text, wrong)


def _values(reading: ValueReading) -> str:
    return f"{count(len(reading.values), 'sample')}, sum {format_decimal(sum(reading.values))}"


def _joined(reading: InstanceReading, state: TargetState) -> str:
    text = f"{count(len(reading.samples), 'sample')} joined"
    if reading.unmatched:
        names = listed(reading.unmatched, _NAMED, reading.more_unmatched)
        text += f", {_strangers(reading)} not, each matching no instance or several: {names}"
        for one in state.instances[:1]:
            text += f"; {one.name} is known as {listed(sorted(one.identities), _NAMED)}"
    if reading.dropped:
        text += f"; {len(reading.dropped)} unusable: {listed(reading.dropped, _NAMED)}"
    running = [one.name for one in state.instances if one.phase is Phase.RUNNING and not one.deleting]
    missing = [name for name in running if name not in reading.samples]
    return f"{text}; none for {listed(missing, _NAMED)}" if missing else text


def _strangers(reading: InstanceReading) -> int:
    """Return the number of samples that match no instance."""
    return len(reading.unmatched) + reading.more_unmatched


def _now(decision: Decision, state: TargetState) -> Finding:
    if decision.desired is None and state.not_started:
        return Finding("now", "would wait for the first instances")
    return Finding("now", why(decision), wrong=decision.desired is None)
