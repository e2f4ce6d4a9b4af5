"""What a decision comes to: judged here once, for the list, the log, the page and the terminal."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from autoscaler.documents.level import Level, wants_more_than_allowed
from autoscaler.model import (
    CONNECTION_LIMITS,
    Condition,
    ConditionType,
    Decision,
    Direction,
    Proposed,
    Reason,
    Steering,
)


class AutoscalerState(StrEnum):
    """An autoscaler in one word, the most urgent that applies."""

    UNKNOWN = "unknown"
    """No decision yet."""
    FAILING = "failing"
    """A metric, the target or a write failed."""
    PAUSED = "paused"
    """An operator's pause is in force."""
    HELD = "held"
    """It wants another size, and the target, a brake or what failed before keeps it from it."""
    DISABLED = "disabled"
    """Somebody set the target's size to 0."""
    LIMITED = "limited"
    """Bounds or policies keep it from the size that the metrics ask for."""
    STABILIZING = "stabilizing"
    """A stabilization window does."""
    SCALING = "scaling"
    """It has just written another size, or would have in a dry run."""
    STEADY = "steady"


class Verdict(NamedTuple):
    """Of one autoscaler's last decision."""

    state: AutoscalerState = AutoscalerState.UNKNOWN
    level: Level = Level.NORMAL
    """How much attention the state deserves."""
    condition: Condition | None = None
    """The one that says most."""
    direction: Direction | None = None
    """In which the size changes or is wanted to."""
    limited_by: str | None = None
    """What changed the number after the metrics, or kept it from being written."""


def verdict(decision: Decision | None, steering: Steering) -> Verdict:
    """Of the last decision, if there is one. `steering`: in force now."""
    if decision is None:
        return Verdict()
    found = state(decision, steering)
    return Verdict(found, _level(found, decision), headline(decision), _direction(decision), _limited_by(decision))


def headline(decision: Decision) -> Condition | None:
    """The condition that says most about the decision.

    The first of: AbleToScale False, ScalingActive False, ScalingLimited True, AbleToScale. None without any.
    """
    able, active, limited = _conditions(decision)
    if able is not None and not able.status:
        return able
    if active is not None and not active.status:
        return active
    if limited is not None and limited.status:
        return limited
    return able


def _conditions(decision: Decision) -> tuple[Condition | None, Condition | None, Condition | None]:
    """AbleToScale, ScalingActive, ScalingLimited."""
    found = {condition.type: condition for condition in decision.conditions}
    able, active = found.get(ConditionType.ABLE_TO_SCALE), found.get(ConditionType.SCALING_ACTIVE)
    return able, active, found.get(ConditionType.SCALING_LIMITED)


def state(decision: Decision | None, steering: Steering) -> AutoscalerState:
    """The one word for it."""
    if decision is None:
        return AutoscalerState.UNKNOWN
    if decision.error is not None:
        return AutoscalerState.FAILING
    if steering.pause is not None:
        return AutoscalerState.PAUSED
    able, active, limited = _conditions(decision)
    if able is not None and not able.status:
        return AutoscalerState.HELD
    if active is not None and active.reason == Reason.SCALING_DISABLED:
        return AutoscalerState.DISABLED
    if decision.written is not None or isinstance(decision.outcome, Proposed):
        return AutoscalerState.SCALING
    if limited is not None and limited.status:
        return AutoscalerState.LIMITED
    if able is not None and able.reason in (Reason.SCALE_DOWN_STABILIZED, Reason.SCALE_UP_STABILIZED):
        return AutoscalerState.STABILIZING
    return AutoscalerState.STEADY


def with_pause(state: AutoscalerState, *, paused: bool) -> tuple[AutoscalerState, ...]:
    """The state, and PAUSED beside a more urgent one: an operator who repairs a failure has to know of it."""
    return (state, AutoscalerState.PAUSED) if paused and state is not AutoscalerState.PAUSED else (state,)


_LEVELS: Final[Mapping[AutoscalerState, Level]] = {
    AutoscalerState.FAILING: Level.ERROR,
    AutoscalerState.PAUSED: Level.WARNING,
    AutoscalerState.HELD: Level.WARNING,
    AutoscalerState.DISABLED: Level.WARNING,
    AutoscalerState.SCALING: Level.ACTIVE,
}
"""Those of the states that always have the same; NORMAL where none stands here."""


def _level(state: AutoscalerState, decision: Decision) -> Level:
    """How much attention the state of `decision` deserves.

    `limited` is a warning only where a metric asks for more than the maximum, or the connection has no room for it.
    What the target itself warns of, such as workers that cannot start, is one in any state, and so is what makes a dry
    run's shadow doubtful, a brake that is on, and a metric that most of the instances have no sample of.
    """
    found = _LEVELS.get(state, Level.NORMAL)
    if found is Level.ERROR:
        return found
    capped = state is AutoscalerState.LIMITED and wants_more_than_allowed(decision)
    unmeasured = any(metric.mostly_missing for metric in decision.metrics)
    return Level.WARNING if capped or decision.doubts or decision.brakes or unmeasured else found


def _direction(decision: Decision) -> Direction | None:
    if decision.current is None:
        return None
    size, desired = decision.decided_from, decision.desired
    if size is None or desired is None or desired == size:
        return None
    return Direction.OUT if desired > size else Direction.IN


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


def _limited_by(decision: Decision) -> str | None:
    """What changed the number after the metrics, or kept it from being written; None: nothing did."""
    limits = [step.detail for step in decision.trace if step.reason in _LIMITS]
    able, *_ = _conditions(decision)
    if able is not None and not able.status:
        limits.append(able.message)
    return "; ".join(limits) or None
