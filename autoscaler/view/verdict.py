"""Judges a decision: the list, the log, the metrics, the page and the terminal all show this verdict."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import takewhile
from typing import Final

from autoscaler.model import (
    CONNECTION_LIMITS,
    HPA,
    TARGET,
    Condition,
    ConditionType,
    Decision,
    Direction,
    ManualControls,
    MetricOutcome,
    Proposed,
    Reason,
    Step,
)
from autoscaler.rules import RULES, changes_proposals
from autoscaler.view.level import Level, wants_more_than_allowed

_RESTS: Final = frozenset([(kind.name, kind.rests) for kind in RULES if kind.rests])
"""Source and reason of the steps of targets that need nothing."""


class AutoscalerState(StrEnum):
    """The state of an autoscaler: the most urgent that applies. `MEANINGS` has their meanings."""

    UNKNOWN = "unknown"
    FAILING = "failing"
    PAUSED = "paused"
    HELD = "held"
    DISABLED = "disabled"
    IDLE = "idle"
    LIMITED = "limited"
    STABILIZING = "stabilizing"
    SCALING = "scaling"
    STEADY = "steady"


MEANINGS: Final[Mapping[AutoscalerState, str]] = {
    AutoscalerState.FAILING: "A metric, the target or a write failed",
    AutoscalerState.HELD: "It wants another size, but an operation at the target or a brake prevents it",
    AutoscalerState.LIMITED: "A maximum, a policy or a limit of the connection allows less than the metrics ask for",
    AutoscalerState.PAUSED: "An operator has paused it",
    AutoscalerState.DISABLED: "The target's size was set to 0, which disables scaling",
    AutoscalerState.IDLE: "Nothing is active, so the target has no instances",
    AutoscalerState.SCALING: "It has just changed the size",
    AutoscalerState.STABILIZING: "A stabilization window keeps the size for a while",
    AutoscalerState.UNKNOWN: "There is no decision yet",
    AutoscalerState.STEADY: "The size fits the metrics, or the minimum is more than they ask for",
}
"""The words of docs/concepts.md."""


def state_word(state: AutoscalerState, direction: Direction | None) -> str:
    """Return the word for a state on the terminal and on the page: `limited`, `scaling in`."""
    return f"{state} {direction}" if state is AutoscalerState.SCALING and direction is not None else state.value


def headline(decision: Decision) -> Condition | None:
    """Return the decision's most important condition.

    The first of: AbleToScale False, ScalingActive False, ScalingLimited True, AbleToScale. None without any.
    """
    able, active, limited = main_conditions(decision)
    if able is not None and not able.status:
        return able
    if active is not None and not active.status:
        return active
    if limited is not None and limited.status:
        return limited
    return able


def main_conditions(decision: Decision) -> tuple[Condition | None, Condition | None, Condition | None]:
    """Return AbleToScale, ScalingActive and ScalingLimited."""
    found = {condition.type: condition for condition in decision.conditions}
    able, active = found.get(ConditionType.ABLE_TO_SCALE), found.get(ConditionType.SCALING_ACTIVE)
    return able, active, found.get(ConditionType.SCALING_LIMITED)


def direction(size: int | None, wanted: int | None) -> Direction | None:
    """Return the direction from one size to another; None: these are equal, or one is unknown."""
    if size is None or wanted is None or wanted == size:
        return None
    return Direction.OUT if wanted > size else Direction.IN


def winner(decision: Decision) -> MetricOutcome | None:
    """Return the metric that the decision follows: the first of those that ask for most. None: no metric was used."""
    if not any(step.reason == Reason.VALID_METRIC_FOUND for step in decision.trace):
        return None
    asking = [metric for metric in decision.metrics if metric.proposal is not None]
    return max(asking, key=lambda metric: metric.proposal or 0, default=None)


def limits(decision: Decision) -> Sequence[Step]:
    """Return the steps that changed the number after the metrics, up to the size that is wanted."""
    wanted = takewhile(lambda step: step.reason != Reason.RESCALE, decision.trace)
    return [step for step in wanted if step.reason in _LIMITS or _is_rules(step)]


def _is_rules(step: Step) -> bool:
    others = step.source not in (HPA, TARGET) and step.reason != Reason.VALID_METRIC_FOUND
    return others and not changes_proposals(step.source)


def resting(decision: Decision) -> str | None:
    """Return the rule, by its name, for which the target was idle, held or not; None: it was not idle."""
    return next((step.source for step in decision.trace if (step.source, step.reason) in _RESTS), None)


def state(decision: Decision | None, steering: ManualControls) -> AutoscalerState:
    """Return the state after the last decision, if there is one."""
    if decision is None:
        return AutoscalerState.UNKNOWN
    if decision.error is not None:
        return AutoscalerState.FAILING
    if steering.pause is not None:
        return AutoscalerState.PAUSED
    able, active, limited = main_conditions(decision)
    if able is not None and not able.status:
        return AutoscalerState.HELD
    if active is not None and active.reason == Reason.SCALING_DISABLED:
        return AutoscalerState.DISABLED
    if decision.written is not None or isinstance(decision.outcome, Proposed):
        return AutoscalerState.SCALING
    if resting(decision) is not None:
        return AutoscalerState.IDLE
    if limited is not None and limited.status and limited.reason != Reason.TOO_FEW_REPLICAS:
        return AutoscalerState.LIMITED  # at its minimum it has more than it needs
    if able is not None and able.reason in (Reason.SCALE_DOWN_STABILIZED, Reason.SCALE_UP_STABILIZED):
        return AutoscalerState.STABILIZING
    return AutoscalerState.STEADY


def with_pause(state: AutoscalerState, *, paused: bool) -> tuple[AutoscalerState, ...]:
    """Return the state, and PAUSED beside a more urgent one: an operator who repairs a failure must know of it."""
    return (state, AutoscalerState.PAUSED) if paused and state is not AutoscalerState.PAUSED else (state,)


def states(decision: Decision | None, steering: ManualControls) -> tuple[AutoscalerState, ...]:
    """Return the states that an autoscaler is found by: its `state`, and PAUSED beside a more urgent one."""
    return with_pause(state(decision, steering), paused=steering.pause is not None)


_LEVELS: Final[Mapping[AutoscalerState, Level]] = {
    AutoscalerState.FAILING: Level.ERROR,
    AutoscalerState.PAUSED: Level.WARNING,
    AutoscalerState.HELD: Level.WARNING,
    AutoscalerState.DISABLED: Level.WARNING,
    AutoscalerState.SCALING: Level.ACTIVE,
}
"""The states with a fixed level; the others are NORMAL."""


def level(state: AutoscalerState, decision: Decision | None) -> Level:
    """Return how much attention the state after the last decision deserves, if there is one.

    `limited` is a warning only if a metric asks for more than the maximum, or than the connection has room for. In
    any state these are warnings: a warning of the target, such as workers that cannot start; a brake that is on; a
    metric without a sample of most instances.
    """
    found = _LEVELS.get(state, Level.NORMAL)
    if found is Level.ERROR or decision is None:
        return found
    capped = state is AutoscalerState.LIMITED and wants_more_than_allowed(decision)
    unmeasured = any(metric.mostly_missing for metric in decision.metrics)
    memories = decision.remembered.rules.of
    needed = any(kind.needs_operator(memories[kind.name]) for kind in RULES if kind.name in memories)
    return Level.WARNING if capped or decision.warnings or needed or unmeasured else found


_LIMITS = frozenset(
    {
        Reason.SCALE_DOWN_STABILIZED,
        Reason.SCALE_UP_STABILIZED,
        Reason.SCALE_UP_LIMIT,
        Reason.SCALE_DOWN_LIMIT,
        Reason.TOO_FEW_REPLICAS,
        Reason.TOO_MANY_REPLICAS,
        *CONNECTION_LIMITS,
    }
)


def limited_by(decision: Decision) -> str | None:
    """Return what changed the number after the metrics, or prevented the write; None: nothing."""
    details = [step.detail for step in limits(decision)]
    able, *_ = main_conditions(decision)
    if able is not None and not able.status:
        details.append(able.message)
    return "; ".join(details) or None
