"""One metric's proposal: reads its target's type and calls the calculator."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from autoscaler.errors import MetricError
from autoscaler.hpa import calculator
from autoscaler.hpa.calculator import Tolerances
from autoscaler.hpa.instances import NOT_SCRAPED_YET, NOTHING_ASIDE, Groups, SetAside, are_new, groups_of, ready_units
from autoscaler.model import (
    HPA,
    Autoscaler,
    Failure,
    Instance,
    InstanceReading,
    MetricOutcome,
    MetricSpec,
    MetricType,
    Reading,
    Reason,
    Step,
    TargetState,
    TargetType,
    ValueReading,
)
from autoscaler.quantity import MAX_MILLI, Milli, sum_of
from autoscaler.text import listed

FAILURE_REASONS: Final[Mapping[MetricType, Reason]] = {
    MetricType.RESOURCE: Reason.FAILED_GET_RESOURCE_METRIC,
    MetricType.CONTAINER_RESOURCE: Reason.FAILED_GET_CONTAINER_RESOURCE_METRIC,
    MetricType.PODS: Reason.FAILED_GET_PODS_METRIC,
    MetricType.OBJECT: Reason.FAILED_GET_OBJECT_METRIC,
    MetricType.EXTERNAL: Reason.FAILED_GET_EXTERNAL_METRIC,
}
"""Reasons of the condition ScalingActive and of events."""

_WORDS: Final = {
    MetricType.RESOURCE: "resource",
    MetricType.CONTAINER_RESOURCE: "container resource",
    MetricType.PODS: "pods metric",
    MetricType.OBJECT: "object metric",
    MetricType.EXTERNAL: "external metric",
}


def describe(metric: MetricOutcome | MetricSpec) -> str:
    """Name a metric in messages: `cpu resource utilization (percentage of request)`, `pods metric inflight`."""
    words = _WORDS[metric.type]
    if metric.target.type is TargetType.UTILIZATION:
        return f"{metric.name} {words} utilization (percentage of request)"
    return f"{words} {metric.name}"


def nothing_runs(metric: MetricSpec, state: TargetState) -> bool:
    """Return whether the metric has no value because nothing runs, which is not a failure of its source."""
    return state.replicas == 0 and metric.type.per_instance


def can_wake(scaler: Autoscaler) -> bool:
    """Return whether a metric can ask for instances while there are none."""
    return not all(metric.type.per_instance for metric in scaler.metrics)


class Measured(Struct, frozen=True, gc=False):
    """One metric's outcome, and who proposes its size."""

    outcome: MetricOutcome
    demand: int | None = None
    """What its samples ask for if no ratio is within the tolerance; None: nothing, or too few samples."""
    source: str = HPA
    """HPA, or the rule that proposes instead of the metric."""
    proposer: str = ""
    """That rule's proposal in words: "the fallback of pods metric inflight"; empty: the metric proposes."""
    steps: tuple[Step, ...] = ()
    """What rules then did to the metric's proposal."""

    @property
    def name(self) -> str:
        """Name what proposes the size."""
        return self.proposer or describe(self.outcome)


def reason_of(winner: Measured | None, current: int, desired: int, maximum_of: str) -> str:
    """Return why a size is wanted: what the metrics ask for, an earlier recommendation, or a maximum."""
    proposal = None if winner is None else winner.outcome.proposal
    if winner is None or proposal is None or desired < current <= proposal:
        return f"the size is above {maximum_of}"
    if proposal <= current < desired:
        return "a higher recommendation in the stabilization window for scaling in"
    more = proposal > current
    if winner.proposer:
        return f"{winner.proposer} asks for {'more' if more else 'less'}"
    return f"{winner.name} above target" if more else "All metrics below target"


_MAX_NAMED: Final = 3
"""Most samples that a message names."""
_NO_INSTANCES: Final = "the target has no instances to measure; look at the target"


def tolerances_of(scaler: Autoscaler) -> Tolerances:
    """Return the tolerance of each direction: the behavior's, or the controller's default."""
    default, behavior = scaler.options.tolerance, scaler.behavior
    if behavior is None:
        return Tolerances(default, default)
    down, up = behavior.scale_down.tolerance, behavior.scale_up.tolerance
    return Tolerances(default if down is None else down, default if up is None else up)


def propose(
    scaler: Autoscaler,
    metric: MetricSpec,
    reading: Reading | Failure,
    state: TargetState,
    now: datetime,
    set_aside: SetAside = NOTHING_ASIDE,
) -> Measured:
    """Return what one metric proposes, or why it failed. Never raises MetricError."""
    if isinstance(reading, Failure):
        return Measured(_failed(metric, reading, reading.message))
    try:
        if isinstance(reading, InstanceReading):
            return _per_instance(scaler, metric, reading, state, now, set_aside)
        return _per_value(metric, reading, state, tolerances_of(scaler))
    except MetricError as error:
        return Measured(_failed(metric, reading, str(error)))


def _failed(metric: MetricSpec, reading: Reading | Failure, error: str) -> MetricOutcome:
    if not isinstance(reading, InstanceReading):
        return MetricOutcome(metric.name, metric.type, metric.target, error=error)
    unmatched = reading.unmatched if reading.samples else ()  # without samples, the error already names them
    for names, unnamed, what in (
        (unmatched, reading.more_unmatched, "samples belong to no instance"),
        (reading.dropped, 0, "samples are unusable"),
    ):
        if names:
            error += f"; {what}: {listed(names, _MAX_NAMED, unnamed)}"
    return MetricOutcome(
        metric.name,
        metric.type,
        metric.target,
        error=error,
        unmatched=reading.unmatched,
        dropped=reading.dropped,
        more_unmatched=reading.more_unmatched,
    )


def _per_instance(
    scaler: Autoscaler,
    metric: MetricSpec,
    reading: InstanceReading,
    state: TargetState,
    now: datetime,
    set_aside: SetAside,
) -> Measured:
    instances, target = state.instances, metric.target
    if not instances:
        raise MetricError(_NO_INSTANCES)
    if not reading.samples and reading.unmatched:
        raise MetricError(_mismatch(reading, instances, now))
    groups = groups_of(scaler, metric, reading.samples, state, now, set_aside)
    weights = {instance.name: instance.weight for instance in instances if instance.weight > 1}
    if target.type is TargetType.UTILIZATION:
        requests = reading.requests
        _require_requests(instances, requests, metric)
        usage_of = calculator.usage_of_requests(requests, weights, target.value)
        fallback = max(100, target.value)

        def of_request(instance: Instance) -> Milli:
            return min(requests[instance.name] * fallback // 100, MAX_MILLI)

        assumption = calculator.Assumption(f"{fallback} % of the request", of_request)
    else:
        usage_of = calculator.usage_of_average(weights, target.value)

        def of_weight(instance: Instance) -> Milli:
            return min(target.value * instance.weight, MAX_MILLI)

        assumption = calculator.Assumption("the target", of_weight)

    if groups.aside and not groups.samples:
        raise MetricError(_all_aside(groups))
    proposal = calculator.per_instance(state.replicas, groups, weights, usage_of, assumption, tolerances_of(scaler))
    usage = proposal.usage
    outcome = MetricOutcome(
        metric.name,
        metric.type,
        target,
        average_value=usage.average,
        average_utilization=usage.utilization,
        ratio=usage.ratio,
        proposal=proposal.replicas,
        detail=proposal.detail,
        ready=groups.ready,
        measured=groups.measured if weights else None,
        not_ready=_names(groups.not_ready),
        missing=_names(groups.missing),
        aside=_names(groups.aside),
        ignored=_names(groups.ignored),
        unmatched=reading.unmatched,
        dropped=reading.dropped,
        more_unmatched=reading.more_unmatched,
    )
    return Measured(outcome, proposal.demand)


def _names(instances: Sequence[Instance]) -> tuple[str, ...]:
    return tuple([instance.name for instance in instances]) if instances else ()


def _all_aside(groups: Groups) -> str:
    """Explain why no sample counts. As with HPA's pods without samples, the metric then has no value."""
    names = listed([instance.name for instance in groups.aside], _MAX_NAMED)
    return f"no sample counts {groups.set_aside.why}; {groups.set_aside.word}: {names}"


def _mismatch(reading: InstanceReading, instances: Sequence[Instance], now: datetime) -> str:
    """Explain a join without matches, with examples from both sides.

    Shortly after a start, the label may be right and the samples may be of instances that no longer exist.
    """
    known = next((one for one in instances if one.identities and not one.deleting), instances[0])
    found = listed(reading.unmatched, _MAX_NAMED, reading.more_unmatched)
    wanted = listed(sorted(known.identities) or [known.name], _MAX_NAMED)
    remedy = "let a label of the samples have such a value, and name that label by `instanceLabel`"
    return (
        f"no sample matches an instance: the samples have {found}, but {known.name} is known as {wanted}; "
        f"{NOT_SCRAPED_YET if are_new(instances, now) else remedy}"
    )


def _require_requests(instances: tuple[Instance, ...], requests: Mapping[str, Milli], metric: MetricSpec) -> None:
    for instance in instances:
        if instance.name not in requests:
            raise MetricError(
                f"instance {instance.name} has no {metric.name} request to set utilization against; "
                "set `request` on the metric"
            )


def _per_value(metric: MetricSpec, reading: ValueReading, state: TargetState, tolerances: Tolerances) -> Measured:
    value, target = sum_of(reading.values), metric.target
    shared = target.type is TargetType.AVERAGE_VALUE
    ready = 0
    if shared:
        proposal = calculator.shared_value(state.status_replicas, value, target.value, tolerances)
    else:
        ready = ready_units(state.instances)
        if state.replicas != 0 and not state.instances and not tolerances.holds(value / target.value):
            raise MetricError(_NO_INSTANCES)
        proposal = calculator.whole_value(state.replicas, value, target.value, ready, tolerances)
    ratio = proposal.usage.ratio
    outcome = MetricOutcome(
        metric.name,
        metric.type,
        target,
        value=None if shared else value,
        average_value=proposal.usage.average if shared else None,
        ratio=None if math.isnan(ratio) else ratio,  # a recorded NaN would not equal itself
        proposal=proposal.replicas,
        detail=proposal.detail,
        ready=ready,
        total=value if shared and proposal.usage.average is None else None,
    )
    return Measured(outcome, proposal.demand)
