"""Idleness: a target has no instances while nothing is active.

Source: KEDA's documentation, "ScaledObject specification", idleReplicaCount and cooldownPeriod, and "Scaling
Deployments", activation. That idleness does not begin while a metric has no value is this project's addition.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Final, TypeAlias

from msgspec.structs import replace
from pydantic import AfterValidator, Strict, WithJsonSchema

from autoscaler.document import QueryDocument, Seconds
from autoscaler.fields.find_values import Loc
from autoscaler.fields.types import QuantityOrZero, Section
from autoscaler.hpa.controller import Rest
from autoscaler.hpa.proposals import Measured, describe, nothing_runs
from autoscaler.model import Autoscaler, Bound, MetricOutcome, MetricSpec, MetricType, Query, Reading, ValueReading
from autoscaler.quantity import Milli, format_decimal, format_duration, format_quantity, parse_quantity, sum_of
from autoscaler.rules.rule import SILENCE, Cycle, Rule, RuleCondition, Said, Written, wakes
from autoscaler.rules.shown import Line, ShownMetric, ShownSettings
from autoscaler.target import Duration
from autoscaler.times import time_text

ACTIVE: Final = "Active"
"""Of the condition."""
NOT_ACTIVE: Final = "NotActive"
"""Of the condition."""
IDLE: Final = "Idle"
"""Of a step and of the condition ScalingLimited: nothing is active, and the cooldown has passed."""


_COOLDOWN: Final = timedelta(minutes=5)


def _check_idle(replicas: int) -> int:
    if replicas != 0:
        raise ValueError(f"{replicas} is not possible; write 0, or leave it out and raise minReplicas")
    return replicas


_IdleReplicas: TypeAlias = Annotated[
    int, Strict(), AfterValidator(_check_idle), WithJsonSchema({"const": 0, "type": "integer"})
]
"""Not Literal[0], which false is, too."""


class Keys(Section):
    """The keys of an autoscaler."""

    idle_replicas: _IdleReplicas | None = None
    """0: while no metric is active, the size is 0 and not minReplicas. Default: as minReplicas: 0 with an activation
    or a cooldown."""
    cooldown: Duration | None = None
    """How long after the last activity the size goes to 0. Default: 5m."""


class TotalMetricKeys(Section):
    """The key of a metric whose samples belong to no instance."""

    activation: QuantityOrZero | None = None
    """The metric is active above it (the sum of the samples), which an idle target waits for. Default: 0."""


class ShownCooldown(ShownSettings):
    """When the size goes to 0."""

    cooldown_seconds: Seconds | None = None
    """How long after the last activity the size goes to 0; null: activity does not matter."""

    @classmethod
    def of_rule(cls, rule: "Idle") -> "ShownCooldown":
        """Return the cooldown."""
        return cls(cooldown_seconds=rule.cooldown)

    def as_lines(self) -> Iterable[Line]:
        """Yield when the size goes to 0."""
        if self.cooldown_seconds is not None:
            yield Line("Idle replicas", f"0, {format_duration(self.cooldown_seconds)} after the last activity")


class ShownActivation(ShownMetric):
    """When a metric is active."""

    activation: str | None = None
    """The metric is active above it; null: activity does not matter."""

    @classmethod
    def of_metric(cls, rule: "Idle", place: int, document: Callable[[Query], QueryDocument]) -> "ShownActivation":
        """Return the metric's activation."""
        activation = rule.activations[place]
        return cls(activation=None if activation is None else format_quantity(activation))

    def as_lines(self) -> Iterable[Line]:
        """Yield above which value the metric is active."""
        if self.activation is not None:
            yield Line("activation", f"above {format_decimal(parse_quantity(self.activation))}")


@dataclass(frozen=True, slots=True)
class Idle(Rule):
    """When a target has no instances.

    Its memory is the condition: the last transition of Active, if it is false, is the time of the last activity.
    """

    name = "idle"
    keys = Keys
    total_metric_keys = TotalMetricKeys
    condition = "Active"
    documents = (ShownCooldown, ShownActivation)
    rests = IDLE

    cooldown: timedelta
    """How long after the last activity the size goes to 0."""
    activations: tuple[Milli | None, ...]
    """One for each metric: it is active above it. None: activity does not depend on it."""

    @classmethod
    def configured(cls, written: Written[Keys]) -> "Idle | None":
        """Return the rule if the size depends on activity."""
        if not _can_idle(written):
            return None
        cooldown = _COOLDOWN if written.body.cooldown is None else written.body.cooldown
        activations = [None if each.of_instances else each.activation or 0 for each in written.metrics]
        return cls(cooldown, tuple(activations))

    @classmethod
    def plain_problems(cls, body: Mapping[str, Any]) -> Iterator[tuple[Loc, str]]:
        """Yield an idleReplicas that no metric would end."""
        if body.get("idleReplicas") == 0 and not wakes(body):
            message = "0 needs an Object or External metric to scale up again; add one, or leave it out"
            yield ("idleReplicas",), message

    @classmethod
    def hints(cls, written: Written[Keys]) -> Iterator[tuple[Loc, str]]:
        """Yield what only idle autoscalers use."""
        if _can_idle(written):
            return
        minimum = written.min_replicas
        message = f"it has no effect with minReplicas {minimum} and no idleReplicas; add idleReplicas: 0"
        if written.body.cooldown is not None:
            yield ("cooldown",), message
        for place in _activations(written):
            yield ("metrics", place, written.metric_keys[place], "activation"), message

    @property
    def times(self) -> Iterable[timedelta]:
        """The cooldown."""
        return (self.cooldown,)

    def follow(self, cycle: Cycle, memory: None) -> Said:
        """Return whether anything needs instances, and the minimum that follows."""
        if cycle.state is None:
            return SILENCE
        outcomes = [each.outcome for each in cycle.measure()]
        known = cycle.condition_since(self.condition)
        cause = _cause(outcomes, cycle.minimums)
        # only idleness removes all instances
        smallest = Bound(1, "the smallest size of an active target", self.name)
        if cause:
            since = cycle.now if known is None or not known[0] else known[1]
            return Said(condition=RuleCondition(True, ACTIVE, cause, since), at_least=smallest, ends_zero=True)
        since = cycle.now if known is None else known[1] if not known[0] else cycle.history.at or cycle.now
        message = "no metric is above its activation"
        condition = RuleCondition(False, NOT_ACTIVE, message, since)
        waits = cycle.now - since < self.cooldown or any(map(_has_no_value, outcomes))
        if waits and cycle.state.replicas > cycle.state.limits.minimum:
            return Said(condition=condition, at_least=smallest, ends_zero=True)
        last = f"{time_text(since)}, and the cooldown is {format_duration(self.cooldown)}"
        why = f"{message}; the last activity was at {last}"
        minimum = Bound(0, "idleReplicas", self.name)
        return Said(condition=condition, minimum=minimum, rest=Rest(self.name, IDLE, why))

    def outcomes(self, cycle: Cycle, measured: Sequence[Measured], said: Said) -> tuple[Sequence[Measured], Said]:
        """Return the outcomes with their activity. While nothing runs, metrics of instances propose 0.

        A failed metric is active on a fallback, else as it was in the last cycle; of several metrics with one type and
        name, an active one counts.
        """
        state = cycle.state
        if state is None:
            return measured, said
        known = dict[tuple[MetricType, str], bool | None]()
        for before in cycle.history.hpa.status.metrics:
            known[before.type, before.name] = known.get((before.type, before.name)) or before.active
        found = list[Measured]()
        for place, (metric, each) in enumerate(zip(cycle.scaler.metrics, measured, strict=True)):
            outcome = each.outcome
            if nothing_runs(metric, state):
                found.append(Measured(_without_instances(metric)))
                continue
            if _has_no_value(outcome):
                active = outcome.on_fallback or known.get((outcome.type, outcome.name))
            else:
                active = self._is_active(place, cycle)
            found.append(replace(each, outcome=replace(outcome, active=active)))
        return found, said

    def ends_rest(self, scaler: Autoscaler) -> Sequence[tuple[str, Reading] | None]:
        """Return a value of each metric just above its activation."""
        return [
            None
            if activation is None
            else (f"{metric.name} above {format_quantity(activation)}", ValueReading((activation + 1,)))
            for metric, activation in zip(scaler.metrics, self.activations, strict=True)
        ]

    def _is_active(self, place: int, cycle: Cycle) -> bool | None:
        """Return whether a metric with a value is above its activation; None: activity does not depend on it."""
        activation, reading = self.activations[place], cycle.observed.readings[place]
        if activation is None or not isinstance(reading, ValueReading):
            return None
        return sum_of(reading.values) > activation


def _activations(written: Written[Keys]) -> Sequence[int]:
    """Return the places of the metrics with an activation."""
    metrics = enumerate(written.metrics)
    return [place for place, each in metrics if not each.of_instances and each.activation is not None]


def _can_idle(written: Written[Keys]) -> bool:
    """Return whether the size depends on activity."""
    follows_activity = written.body.cooldown is not None or bool(_activations(written))
    return written.body.idle_replicas == 0 or (written.min_replicas == 0 and follows_activity)


def _without_instances(metric: MetricSpec) -> MetricOutcome:
    return MetricOutcome(metric.name, metric.type, metric.target, proposal=0, detail="nothing runs")


def _has_no_value(outcome: MetricOutcome) -> bool:
    return outcome.failed and not outcome.type.per_instance


def _cause(outcomes: Sequence[MetricOutcome], minimums: Sequence[Bound]) -> str:
    """Return what is active; empty: nothing."""
    for each in outcomes:
        if each.active:
            without = "; it has no value" if each.failed else ""
            what = "its fallback is in effect" if each.on_fallback else f"it is above its activation{without}"
            return f"{describe(each)}: {what}"
    for minimum in minimums:
        if minimum.size:
            return f"{minimum.of} is {minimum.size}"
    return ""
