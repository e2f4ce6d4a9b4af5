"""HPA's reconcile, stage by stage: the size that one autoscaler wants now, and why.

Source: the HorizontalPodAutoscaler controller of Kubernetes 1.37. tests/conformance compares the two.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from autoscaler.errors import TargetError
from autoscaler.hpa.conditions import MESSAGES, Conditions
from autoscaler.hpa.measurement import decisive, failures
from autoscaler.hpa.memory import with_events
from autoscaler.hpa.policies import limit, limit_without_behavior, too_few, too_many, within_recommended
from autoscaler.hpa.proposals import FAILURE_REASONS, Measured, can_wake, reason_of
from autoscaler.hpa.stabilization import down_window, stabilize, stabilize_down, up_window
from autoscaler.model import (
    HPA,
    Autoscaler,
    Bound,
    Bounds,
    ConditionType,
    Decision,
    Event,
    EventType,
    History,
    Memories,
    MetricOutcome,
    Reason,
    Recommendation,
    Remembered,
    ScaleChange,
    ScaleEvent,
    Status,
    Step,
    TargetState,
    arrived,
)

_ABLE: Final = ConditionType.ABLE_TO_SCALE
_ACTIVE: Final = ConditionType.SCALING_ACTIVE
_LIMITED: Final = ConditionType.SCALING_LIMITED


class Goal(NamedTuple):
    """A size beside the metrics', which neither windows nor policies delay."""

    size: int
    source: str
    reason: str
    message: str
    """What the reason means, for the condition ScalingLimited."""
    detail: str
    """Why it is wanted, for the step and the change."""
    over_minimum: bool = True
    """Whether a size below the minimum goes straight to it, and not to the minimum first."""


class Rest(NamedTuple):
    """Why the target needs nothing, so that it goes to the minimum at once."""

    source: str
    reason: str
    message: str


class Asked(ABC):
    """What one reconcile is asked to do beside what the metrics ask for. By itself HPA has only its bounds."""

    __slots__ = ()

    bounds: Bounds
    rest: Rest | None

    @abstractmethod
    def measure(self) -> Sequence[Measured]:
        """Return what each metric proposes. Only some paths need it."""

    def goal(self) -> Goal | None:
        """Return a size beside the metrics'. It is asked once the target may be scaled at all."""
        return None

    def zero_waits(self) -> bool:
        """Return whether a zero of the autoscaler's own below minReplicas waits for a metric with a value, as HPA's."""
        return True


class Wanted(NamedTuple):
    """The result of a reconcile."""

    current: int | None
    """The target's size; None: it could not be read."""
    desired: int | None
    """The size wanted; None: nothing could be decided."""
    status: Status
    reason: str = ""
    """Why another size is wanted than the current one."""
    forced: bool = False
    """Whether that is a return into the bounds, which no metric decides."""

    @property
    def changes(self) -> bool:
        """Whether another size is wanted than the current one."""
        return self.desired is not None and self.desired != self.current


@dataclass(slots=True, eq=False)
class Controller:
    """One reconcile in progress. The stages add to it in order, within one decision."""

    scaler: Autoscaler
    history: History
    now: datetime
    conditions: Conditions = field(init=False)
    events: list[Event] = field(default_factory=list)
    trace: list[Step] = field(default_factory=list)
    metrics: tuple[MetricOutcome, ...] = ()
    error: str | None = None
    warnings: tuple[str, ...] = ()
    bounds: Bounds | None = None
    ready: int | None = None
    _measured: Sequence[Measured] | None = None
    _recommendations: list[Recommendation] = field(default_factory=list)
    _scale_ups: list[ScaleEvent] = field(default_factory=list)
    _scale_downs: list[ScaleEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.conditions = Conditions(self.history.hpa.conditions, self.now)

    def unreadable(self, error: TargetError) -> Wanted:
        """Return the result for a target that could not be read. The last status stays."""
        self.error = str(error)
        self._warn(Reason.FAILED_GET_SCALE, self.error)
        self.conditions.set(_ABLE, False, Reason.FAILED_GET_SCALE, self.error)
        return Wanted(None, None, self.history.hpa.status)

    def reconcile(self, state: TargetState, asked: Asked) -> Wanted:
        """Return the size that is wanted. Failures become conditions; none is raised."""
        self._begin(state)
        self.bounds = bounds = asked.bounds
        current, minimum, maximum = state.replicas, bounds.minimum.size, bounds.maximum.size
        own_zero = current == 0 and self._may_leave_zero()
        if minimum > maximum:
            return self._bounds_conflict(current, bounds)
        if current == 0 and not own_zero:
            return self._disabled(current)
        if current == maximum == 0:
            return self._switched_off(bounds)
        goal = asked.goal()
        if asked.rest is not None:
            return self._rest(current, asked, asked.rest)
        if current > maximum and not bounds.maximum.recommended:
            return self._forced(current, maximum, f"the size is above {bounds.maximum.of}")
        waits = own_zero and can_wake(self.scaler) and asked.zero_waits()
        if current < minimum and not waits and not (goal is not None and goal.over_minimum):
            return self._forced(current, minimum, f"the size is below {bounds.minimum.of}")
        return self._by_metrics(current, asked, goal, waits=waits)

    def measured(self, measured: Sequence[Measured]) -> None:
        """Set the results of the metrics. Only the first call counts."""
        if self._measured is None:
            self._measured = measured
            self.metrics = tuple([each.outcome for each in measured])
            events, self.error = failures(self.metrics)
            self.events += events

    def hold(self, wanted: Wanted, holds: Sequence[Step], messages: str) -> Wanted:
        """Return what is left of a wanted change that something prevents. `messages`: of all that do."""
        self.conditions.set(_ABLE, False, holds[0].reason, messages)
        self.trace += holds
        return wanted._replace(status=Status(wanted.status.current, wanted.desired or 0, self.metrics))

    def decision(
        self, wanted: Wanted, rules: Memories, state: TargetState | None, victims: tuple[str, ...], *, held: bool
    ) -> Decision:
        """Return the decision, with the change to write unless it is `held`. `rules`: what they remember next."""
        scaler, bounds, change = self.scaler, self.bounds, None
        if wanted.changes and not held and state is not None and wanted.desired is not None:
            change = ScaleChange(
                id=f"{scaler.name}@{self.now.isoformat()}",
                size=wanted.desired,
                decided_from=state.replicas,
                revision=state.revision,
                reason=wanted.reason,
                victims=victims if wanted.desired < state.replicas else (),
            )
        scale_event, scaled_to_zero = None, None
        if change is not None and scaler.behavior is not None:  # without a behavior no events are kept
            scale_event = ScaleEvent(abs(change.size - change.decided_from), self.now)
        if change is not None and bounds is not None and scaler.options.scale_to_zero:
            leaves_again = bounds.maximum.size == 0 or (bounds.minimum.size == 0 and can_wake(scaler))
            scaled_to_zero = change.size == 0 and leaves_again
        return Decision(
            name=scaler.name,
            target=scaler.target,
            now=self.now,
            dry_run=scaler.dry_run,
            current=wanted.current,
            desired=wanted.desired,
            change=change,
            conditions=self.conditions.frozen(),
            events=tuple(self.events),
            metrics=self.metrics,
            trace=tuple(self.trace),
            remembered=Remembered(
                status=wanted.status,
                recommendations=tuple(self._recommendations),
                scale_ups=tuple(self._scale_ups),
                scale_downs=tuple(self._scale_downs),
                scale_event=scale_event,
                scaled_to_zero=scaled_to_zero,
                rules=rules,
            ),
            error=self.error,
            warnings=self.warnings,
            bounds=bounds,
            manual=self.history.manual.at(self.now),
            ready=self.ready,
        )

    def _begin(self, state: TargetState) -> None:
        """Record that the target was read, add its first recommendation, and settle a pending write."""
        self.conditions.set(_ABLE, True, Reason.SUCCEEDED_GET_SCALE, f"the target's size is {state.replicas}")
        self.warnings, self.ready = state.warnings, state.ready
        if state.warnings:
            new = [text for text in state.warnings if text not in self.history.warnings]
            self.events += [Event(EventType.WARNING, Reason.TARGET_WARNING, text) for text in new]
        if not self.history.hpa.recommendations:
            self._recommendations.append(Recommendation(state.replicas, self.now))
        latest = self.history.pending
        write = arrived(latest, state.replicas)
        if write is not None:  # the write succeeded, but its answer was lost
            if self.scaler.behavior is not None:  # without a behavior no events are kept
                events = self._scale_ups if write.size > write.decided_from else self._scale_downs
                events.append(ScaleEvent(abs(write.size - write.decided_from), min(write.at, self.now)))
            if write.scaled_to_zero is not None:
                self.conditions.set_scaled_to_zero(zero=write.scaled_to_zero)
            detail = f"written {write.at.isoformat()}"
            self.trace.append(Step(HPA, Reason.SETTLED, write.decided_from, write.size, detail))
        elif latest is not None and state.replicas == latest.decided_from == 0 and self.scaler.options.scale_to_zero:
            # The autoscaler leaves only a zero of its own. The cycle that saw it may have ended after announcing the
            # next size.
            self.conditions.set_scaled_to_zero(zero=True)

    def _may_leave_zero(self) -> bool:
        """Return whether the autoscaler scaled the target to zero. An operator's zero switches scaling off."""
        return self.scaler.options.scale_to_zero and self.conditions.is_true(ConditionType.SCALED_TO_ZERO)

    def _by_metrics(self, current: int, asked: Asked, goal: Goal | None, *, waits: bool) -> Wanted:
        """Return the proposal of the metrics and the goal. `waits`: a zero of the autoscaler's own may end now."""
        bounds, minimum = asked.bounds, asked.bounds.minimum
        winner = self._measure(current, asked)
        proposal = None if winner is None else winner.outcome.proposal
        if proposal is None and current <= bounds.maximum.size and goal is None:
            return self._unmeasured(current, bounds)
        asked_for = [each for each in (proposal, None if goal is None else goal.size) if each is not None]
        desired = self._normalize(max(asked_for, default=current), current, bounds, goal)
        if waits and current < minimum.size and desired <= minimum.size:
            if desired < minimum.size:  # whatever the windows and the policies allow; no condition says so
                self.trace.append(too_few(desired, minimum))
            return self._wanted(current, minimum.size, f"the size is below {minimum.of}")
        if desired == current:
            return self._keep(current)
        reason = goal.detail if goal is not None and desired == goal.size else ""
        return self._wanted(current, desired, reason or reason_of(winner, current, desired, bounds.maximum.of))

    def _measure(self, current: int, asked: Asked) -> Measured | None:
        """Return the metric with the largest proposal, or None if failed metrics prevent a decision."""
        self.measured(asked.measure())
        found = decisive(self._measured or (), current)
        if found is None or found.outcome.proposal is None:
            if found is not None:
                self.conditions.set(_ACTIVE, False, FAILURE_REASONS[found.outcome.type], self.error or "")
            return None
        name = found.name
        self.conditions.set(_ACTIVE, True, Reason.VALID_METRIC_FOUND, f"calculated from {name}")
        first = found.steps[0].before if found.steps else found.outcome.proposal
        self.trace.append(Step(found.source, Reason.VALID_METRIC_FOUND, current, first, name))
        self.trace += found.steps
        return found

    def _normalize(self, proposal: int, current: int, bounds: Bounds, goal: Goal | None) -> int:
        """Apply stabilization, then rates and bounds. Each sets a condition and adds a step."""
        scaler, now, known = self.scaler, self.now, self.history.hpa
        behavior, window = scaler.behavior, down_window(scaler)
        recommendations = (*known.recommendations, *self._recommendations)
        recommended = within_recommended(proposal, bounds)
        if recommended is not None:
            self.trace.append(recommended)
            proposal = recommended.after
        if current > bounds.maximum.size:  # such a maximum is reached step by step
            bounds = Bounds(bounds.minimum, Bound(current, "the current size", bounds.maximum.source))
        if behavior is None:
            stabilized = stabilize_down(proposal, recommendations, window, now)
            limited = limit_without_behavior(stabilized.after, current, bounds)
        else:
            stabilized = stabilize(proposal, current, recommendations, up_window(scaler), window, now)
            ups = with_events(known.scale_ups, self._scale_ups, behavior.scale_up)
            downs = with_events(known.scale_downs, self._scale_downs, behavior.scale_down)
            limited = limit(stabilized.after, current, bounds, behavior, ups, downs, now)
        message = MESSAGES.get(limited.reason, "")
        if goal is not None and limited.after < goal.size:  # neither the scale-up window nor a policy delays it
            limited = Step(goal.source, goal.reason, limited.after, goal.size, goal.detail)
            message = goal.message
        self._recommendations.append(Recommendation(proposal, now))
        self.conditions.set(_ABLE, True, stabilized.reason, MESSAGES[stabilized.reason])
        cut = limited if limited.before != limited.after else recommended
        step = cut or limited
        text = f"{MESSAGES.get(step.reason, message)}: {step.detail}"
        self.conditions.set(_LIMITED, cut is not None, step.reason, text)
        self.trace += (stabilized, limited)
        return limited.after

    def _bounds_conflict(self, current: int, bounds: Bounds) -> Wanted:
        minimum, maximum = bounds.minimum, bounds.maximum
        self.error = (
            f"no size is allowed: {minimum.of} is {minimum.size} and {maximum.of} is {maximum.size}; change one of them"
        )
        self._warn(Reason.BOUNDS_CONFLICT, self.error)
        self.conditions.set(_ABLE, False, Reason.BOUNDS_CONFLICT, self.error)
        return Wanted(current, None, Status(current, self.history.hpa.status.desired))

    def _disabled(self, current: int) -> Wanted:
        """Return the result for a target whose size an operator set to 0, which switches scaling off."""
        message = "the target's size is 0, which switches scaling off; set it to 1 or more to switch it on"
        self.conditions.set(_ACTIVE, False, Reason.SCALING_DISABLED, message)
        self.trace.append(Step(HPA, Reason.SCALING_DISABLED, current, current, message))
        return self._keep(current)

    def _switched_off(self, bounds: Bounds) -> Wanted:
        """Return the result for a target that a maximum of 0 has scaled to zero. No metric is needed."""
        self.conditions.set(_LIMITED, True, Reason.TOO_MANY_REPLICAS, f"switched off: {bounds.maximum.of} is 0")
        self.trace.append(too_many(0, bounds.maximum))
        return self._keep(0)

    def _rest(self, current: int, asked: Asked, rest: Rest) -> Wanted:
        """Return the result for a target that needs nothing: it goes to the minimum at once, and stays there."""
        minimum = asked.bounds.minimum.size
        self._measure(current, asked)  # for ScalingActive
        self.conditions.set(_LIMITED, True, rest.reason, rest.message)
        self.trace.append(Step(rest.source, rest.reason, current, minimum, rest.message))
        return self._keep(current) if current == minimum else self._wanted(current, minimum, rest.message)

    def _unmeasured(self, current: int, bounds: Bounds) -> Wanted:
        """Return the result when metrics give no proposal. The size and the previous desired size stay."""
        if bounds.minimum.recommended:
            self._recommendations.append(Recommendation(bounds.minimum.size, self.now))
        self._warn(Reason.FAILED_COMPUTE_METRICS_REPLICAS, self.error or "")
        return Wanted(current, None, Status(current, self.history.hpa.status.desired, self.metrics))

    def _keep(self, current: int) -> Wanted:
        return Wanted(current, current, Status(current, current, self.metrics))

    def _forced(self, current: int, desired: int, reason: str) -> Wanted:
        return self._wanted(current, desired, reason)._replace(forced=True)

    def _wanted(self, current: int, desired: int, reason: str) -> Wanted:
        self.trace.append(Step(HPA, Reason.RESCALE, current, desired, reason))
        return Wanted(current, desired, Status(current, self.history.hpa.status.desired, self.metrics), reason)

    def _warn(self, reason: str, message: str) -> None:
        self.events.append(Event(EventType.WARNING, reason, message))
