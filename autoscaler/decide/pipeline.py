"""`decide`: HPA's reconcile as one pure function, stage by stage."""

from datetime import datetime
from typing import Final

from autoscaler.decide.brakes import Braking, brake, holds
from autoscaler.decide.conditions import MESSAGES, Conditions
from autoscaler.decide.deployments import Recovery, follow_deployments
from autoscaler.decide.drains import with_drains
from autoscaler.decide.fallback import condition_of, events_of, failing_by_readings, has_fallback
from autoscaler.decide.idle import follow_activity
from autoscaler.decide.measurement import decisive, measure
from autoscaler.decide.proposals import FAILURE_REASONS, can_wake, name_of, reason_of
from autoscaler.decide.remember import arrived, with_events
from autoscaler.decide.scaling_rules import Bounds, bounds_of, limit, limit_without_behavior
from autoscaler.decide.schedules import open_entries
from autoscaler.decide.stabilization import down_window, stabilize, stabilize_down, up_window
from autoscaler.decide.steering import ended, paused_hold
from autoscaler.decide.warnings import new_warnings
from autoscaler.errors import TargetError
from autoscaler.model import (
    Autoscaler,
    ConditionType,
    Decision,
    Event,
    EventType,
    History,
    HoldReason,
    MetricFailure,
    MetricOutcome,
    Observation,
    OpenEntry,
    Reason,
    Recommendation,
    ScaleChange,
    ScaleEvent,
    Status,
    Step,
    TargetState,
)

_ABLE: Final = ConditionType.ABLE_TO_SCALE
_ACTIVE: Final = ConditionType.SCALING_ACTIVE
_LIMITED: Final = ConditionType.SCALING_LIMITED
_FALLBACK: Final = ConditionType.METRIC_FALLBACK_ACTIVE


def decide(scaler: Autoscaler, observed: Observation, history: History, now: datetime) -> Decision:
    """Return one autoscaler's decision, before the write. Failures become conditions; none is raised.

    Source: the HorizontalPodAutoscaler controller of Kubernetes 1.37. tests/conformance compares the two.
    """
    return with_drains(scaler, observed, history, _decide(scaler, observed, history, now))


def _decide(scaler: Autoscaler, observed: Observation, history: History, now: datetime) -> Decision:
    """Return the decision without the drains."""
    draft = _Draft(scaler, history, now)
    draft.follow_failures(observed)
    state = observed.target
    if isinstance(state, TargetError):
        return draft.unreadable(state)
    draft.begin(state)
    bounds = draft.bound(observed, state)
    current = state.replicas
    if bounds.minimum > bounds.maximum:
        return draft.bounds_conflict(current, bounds)
    if current == 0 and not draft.may_leave_zero():
        return draft.disabled(current)
    if current == bounds.maximum == 0:
        return draft.switched_off(bounds)
    goal = draft.recover(state, bounds)
    if draft.idle:
        return draft.rest(observed, state, bounds)
    if current > bounds.maximum and not bounds.maximum_scheduled:
        return draft.finish(observed, state, bounds.maximum, f"the size is above {bounds.maximum_of}", braked=False)
    if current < bounds.minimum and draft.rises_at_once(current, bounds):
        return draft.finish(observed, state, bounds.minimum, f"the size is below {bounds.minimum_of}", braked=False)
    winner = draft.measure(observed, state)
    proposal = None if winner is None else winner.proposal
    if proposal is None and current <= bounds.maximum and not goal:
        return draft.unmeasured(current, bounds)
    desired = draft.normalize(max(current, goal) if proposal is None else max(proposal, goal), current, bounds)
    if desired == current:
        return draft.keep(current)
    reason = draft.recovery.detail if desired == goal else reason_of(winner, current, desired, bounds)
    return draft.finish(observed, state, desired, reason)


class _Draft:
    """One decision in progress. The stages add to it in order, within one call of `decide`."""

    def __init__(self, scaler: Autoscaler, history: History, now: datetime) -> None:
        self.scaler, self.history, self.now = scaler, history, now
        self.conditions = Conditions(history.conditions, now)
        self.events: list[Event] = []
        self.trace: list[Step] = []
        self.metrics: tuple[MetricOutcome, ...] = ()
        self.recommendations: list[Recommendation] = []
        self.scale_ups: list[ScaleEvent] = []
        self.scale_downs: list[ScaleEvent] = []
        self.scale_event: ScaleEvent | None = None
        self.error: str | None = None
        self.warnings: tuple[str, ...] = ()
        self.bounds: Bounds | None = None
        self.idle = ""
        self.ready: int | None = None
        self.steering = history.steering.at(now)
        self.schedules: tuple[OpenEntry, ...] = ()
        self.has_fallback = has_fallback(scaler)
        self.failing: tuple[MetricFailure, ...] = ()
        self.braking = Braking()
        self.recovery = Recovery(history.deployments)

    def follow_failures(self, observed: Observation) -> None:
        """Find the metrics with a fallback that have no value, from the readings alone.

        `measure` refines the result.
        """
        if self.has_fallback:
            self.failing = failing_by_readings(self.scaler, observed, self.history.failing, self.now)
        else:
            self.conditions.forget(_FALLBACK)  # the last metric with a fallback left the configuration

    def begin(self, state: TargetState) -> None:
        """Record that the target was read, add its first recommendation, and settle an unfinished write."""
        self.conditions.set(_ABLE, True, Reason.SUCCEEDED_GET_SCALE, f"the target's size is {state.replicas}")
        self.warnings, self.events = state.warnings, new_warnings(self.history, state)
        self.ready = state.ready
        history, now = self.history, self.now
        recovers = self.scaler.recover_size and not self.scaler.dry_run  # a dry run writes nothing back
        self.recovery = follow_deployments(self.scaler, state, history, now, recovers=recovers)
        self.braking = brake(self.scaler, state, history, now, reset=self.recovery.resets)
        if not history.recommendations:
            self.recommendations.append(Recommendation(state.replicas, now))
        latest = history.unfinished
        intent = arrived(latest, state.replicas)
        if intent is not None:  # the write succeeded, but its answer was lost
            if self.scaler.behavior is not None:  # without a behavior no events are kept
                events = self.scale_ups if intent.size > intent.decided_from else self.scale_downs
                events.append(ScaleEvent(abs(intent.size - intent.decided_from), min(intent.at, now)))
            if intent.scaled_to_zero is not None:
                self.conditions.set_scaled_to_zero(zero=intent.scaled_to_zero)
            self.trace.append(
                Step(Reason.SETTLED, intent.decided_from, intent.size, f"written {intent.at.isoformat()}")
            )
        elif latest is not None and state.replicas == latest.decided_from == 0 and self.scaler.options.scale_to_zero:
            # The autoscaler leaves only a zero of its own. The cycle that saw it may have ended after announcing the
            # next size.
            self.conditions.set_scaled_to_zero(zero=True)

    def bound(self, observed: Observation, state: TargetState) -> Bounds:
        """Return the bounds in force."""
        self.schedules = open_entries(self.scaler, observed.civil, self.now)
        self._follow_activity(observed, state)
        override = self.steering.override
        bounds = bounds_of(self.scaler, override, self.schedules, state.limits, idle=bool(self.idle))
        if state.replicas == bounds.minimum == 0 < bounds.maximum and not can_wake(self.scaler):
            bounds = bounds._replace(minimum=1, minimum_of="the smallest size that the metrics can measure")
        self.bounds = bounds
        return bounds

    def _follow_activity(self, observed: Observation, state: TargetState) -> None:
        """Find whether the target is idle, from metrics that are read at any size."""
        override, cooldown = self.steering.override, self.scaler.cooldown
        if cooldown is None:
            self.conditions.forget(ConditionType.ACTIVE)
            return
        self._read_metrics(observed, state)
        found = follow_activity(cooldown, self.metrics, self.schedules, override, state, self.history, self.now)
        self.idle = found.idle
        self.conditions.set(ConditionType.ACTIVE, found.active, found.reason, found.message, found.since)

    def may_leave_zero(self) -> bool:
        """Return whether the autoscaler scaled the target to zero. An operator's zero switches scaling off."""
        return self.scaler.options.scale_to_zero and self.conditions.is_true(ConditionType.SCALED_TO_ZERO)

    def recover(self, state: TargetState, bounds: Bounds) -> int:
        """Return the size that a target returns to after a deployment, within the bounds; 0: it returns to none."""
        held = bool(self._holds(state, out=True, braked=True))
        self.recovery = self.recovery.within(self.scaler, state, bounds, self.now, held=held)
        return self.recovery.goal

    def rises_at_once(self, current: int, bounds: Bounds) -> bool:
        """Return whether a size below the minimum goes to it without metrics: no brake stops the way to a minimum."""
        waits = self.recovery.goal > 0 or (current == 0 and bounds.zero_waits and can_wake(self.scaler))
        return not waits or self.braking.stop_growth

    def _read_metrics(self, observed: Observation, state: TargetState) -> None:
        found = measure(self.scaler, observed, state, self.history, self.now)
        self.metrics, self.failing, self.error = found.outcomes, found.failing, found.error
        self.events += found.events

    def measure(self, observed: Observation, state: TargetState) -> MetricOutcome | None:
        """Return the metric with the largest proposal, or None if failed metrics prevent a decision."""
        if self.scaler.cooldown is None:
            self._read_metrics(observed, state)
        found = decisive(self.metrics, state.replicas)
        if found is None or found.proposal is None:
            if found is not None:
                self.conditions.set(_ACTIVE, False, FAILURE_REASONS[found.type], self.error or "")
            return None
        name = name_of(found)
        self.conditions.set(_ACTIVE, True, Reason.VALID_METRIC_FOUND, f"calculated from {name}")
        self.trace.append(Step(Reason.VALID_METRIC_FOUND, state.replicas, found.proposal, name))
        return found

    def normalize(self, proposal: int, current: int, bounds: Bounds) -> int:
        """Apply stabilization, then rates and bounds. Each sets a condition and adds a step."""
        scaler, now, history = self.scaler, self.now, self.history
        behavior, window = scaler.behavior, down_window(scaler)
        known = (*history.recommendations, *self.recommendations)
        scheduled = bounds.as_proposal(proposal)
        proposal = scheduled.after
        if current > bounds.maximum:  # a schedule's maximum is reached step by step
            bounds = bounds._replace(maximum=current, maximum_of="the current size")
        if behavior is None:
            stabilized = stabilize_down(proposal, known, window, now)
            limited = limit_without_behavior(stabilized.after, current, bounds)
        else:
            stabilized = stabilize(proposal, current, known, up_window(scaler), window, now)
            ups = with_events(history.scale_ups, self.scale_ups, behavior.scale_up)
            downs = with_events(history.scale_downs, self.scale_downs, behavior.scale_down)
            limited = limit(stabilized.after, current, bounds, behavior, ups, downs, now)
        if limited.after < self.recovery.goal:  # neither the scale-up window nor a policy delays it
            limited = Step(Reason.RECOVERING_SIZE, limited.after, self.recovery.goal, self.recovery.detail)
        self.recommendations.append(Recommendation(proposal, now))
        self.conditions.set(_ABLE, True, stabilized.reason, MESSAGES[stabilized.reason])
        cuts = [step for step in (scheduled, limited) if step.before != step.after]
        step = cuts[-1] if cuts else limited
        self.conditions.set(_LIMITED, bool(cuts), step.reason, f"{MESSAGES[step.reason]}: {step.detail}")
        self.trace += (*cuts[: scheduled in cuts], stabilized, limited)
        if limited.after >= bounds.minimum:
            return limited.after
        self.trace.append(
            bounds.too_few(limited.after)
        )  # from a zero that waited; as in Kubernetes, no condition says so
        return bounds.minimum

    def unreadable(self, error: TargetError) -> Decision:
        """Return the decision for a target that could not be read. The last status stays."""
        self.error = str(error)
        self._warn(Reason.FAILED_GET_SCALE, self.error)
        self.conditions.set(_ABLE, False, Reason.FAILED_GET_SCALE, self.error)
        self.braking = brake(self.scaler, None, self.history, self.now, reset=self.recovery.resets)
        return self._decision(None, None, self.history.status)

    def bounds_conflict(self, current: int, bounds: Bounds) -> Decision:
        """Return the decision for bounds that have no size in common with the target's own."""
        self.error = (
            f"no size is allowed: {bounds.minimum_of} is {bounds.minimum} and {bounds.maximum_of} is {bounds.maximum}; "
            "change one of them"
        )
        self._warn(Reason.BOUNDS_CONFLICT, self.error)
        self.conditions.set(_ABLE, False, Reason.BOUNDS_CONFLICT, self.error)
        return self._decision(current, None, Status(current, self.history.status.desired))

    def disabled(self, current: int) -> Decision:
        """Return the decision for a target whose size an operator set to 0, which switches scaling off."""
        message = "the target's size is 0, which switches scaling off; set it to 1 or more to switch it on"
        self.conditions.set(_ACTIVE, False, Reason.SCALING_DISABLED, message)
        self.trace.append(Step(Reason.SCALING_DISABLED, current, current, "the size is 0"))
        return self.keep(current)

    def switched_off(self, bounds: Bounds) -> Decision:
        """Return the decision for a target that a maximum of 0 has scaled to zero. No metric is needed."""
        self.conditions.set(_LIMITED, True, Reason.TOO_MANY_REPLICAS, f"switched off: {bounds.maximum_of} is 0")
        self.trace.append(bounds.too_many(0))
        return self.keep(0)

    def rest(self, observed: Observation, state: TargetState, bounds: Bounds) -> Decision:
        """Return the decision for an idle target: it goes to the minimum at once, and stays there."""
        self.measure(observed, state)  # for ScalingActive
        self.conditions.set(_LIMITED, True, Reason.IDLE, self.idle)
        self.trace.append(Step(Reason.IDLE, state.replicas, bounds.minimum, self.idle))
        resting = state.replicas == bounds.minimum
        return self.keep(state.replicas) if resting else self.finish(observed, state, bounds.minimum, self.idle)

    def unmeasured(self, current: int, bounds: Bounds) -> Decision:
        """Return the decision when metrics give no proposal. The size and the previous desired size stay."""
        if bounds.minimum_scheduled:
            self.recommendations.append(Recommendation(bounds.minimum, self.now))
        self._warn(Reason.FAILED_COMPUTE_METRICS_REPLICAS, self.error or "")
        return self._decision(current, None, Status(current, self.history.status.desired, self.metrics))

    def keep(self, current: int) -> Decision:
        """Return the decision to keep the current size."""
        return self._decision(current, current, Status(current, current, self.metrics))

    def finish(
        self, observed: Observation, state: TargetState, desired: int, reason: str, *, braked: bool = True
    ) -> Decision:
        """Return the decision to change the size, unless something holds it. `braked`: brakes apply."""
        current = state.replicas
        self.trace.append(Step(Reason.RESCALE, current, desired, reason))
        held = self._holds(state, out=desired > current, braked=braked)
        if held:
            message = "; also: ".join([each.message for each in held])
            self.conditions.set(_ABLE, False, held[0].reason, message)
            self.trace += [Step(each.reason, desired, current, each.message) for each in held]
            return self._decision(current, desired, Status(current, desired, self.metrics))
        change = ScaleChange(
            id=f"{self.scaler.name}@{self.now.isoformat()}",
            size=desired,
            decided_from=current,
            revision=state.revision,
            reason=reason,
            victims=observed.victims if desired < current else (),
        )
        if self.scaler.behavior is not None:  # without a behavior no events are kept
            self.scale_event = ScaleEvent(abs(desired - current), self.now)
        return self._decision(current, desired, Status(current, self.history.status.desired, self.metrics), change)

    def _holds(self, state: TargetState, *, out: bool, braked: bool) -> list[HoldReason]:
        """Return everything that prevents this change. The first entry gives the condition's reason."""
        target = state.hold.scale_out if out else state.hold.scale_in
        held = list(filter(None, (paused_hold(self.steering.pause, out=out), target, self.recovery.hold)))
        return [*held, *holds(self.braking.active, out=out)] if braked else held

    def _warn(self, reason: str, message: str) -> None:
        self.events.append(Event(EventType.WARNING, reason, message))

    def _decision(
        self, current: int | None, desired: int | None, status: Status, change: ScaleChange | None = None
    ) -> Decision:
        scaler = self.scaler
        if self.has_fallback:
            self.conditions.set(_FALLBACK, *condition_of(scaler, self.failing))
            self.events += events_of(scaler, self.history.failing, self.failing)
        self.events += (*self.recovery.events, *self.braking.events, *ended(self.history, self.now))
        scaled_to_zero = None
        if change is not None and self.bounds is not None and scaler.options.scale_to_zero:
            scaled_to_zero = change.size == 0 and self.bounds.allow_zero(can_wake(scaler))
        return Decision(
            name=scaler.name,
            target=scaler.target,
            now=self.now,
            dry_run=scaler.dry_run,
            current=current,
            desired=desired,
            change=change,
            conditions=self.conditions.frozen(),
            events=tuple(self.events),
            metrics=self.metrics,
            trace=tuple(self.trace),
            status=status,
            recommendations=tuple(self.recommendations),
            scale_ups=tuple(self.scale_ups),
            scale_downs=tuple(self.scale_downs),
            scale_event=self.scale_event,
            scaled_to_zero=scaled_to_zero,
            error=self.error,
            warnings=self.warnings,
            minimum=None if self.bounds is None else self.bounds.minimum,
            maximum=None if self.bounds is None else self.bounds.maximum,
            steering=self.steering,
            ready=self.ready,
            failing=self.failing,
            brakes=self.braking.active,
            brake_memory=self.braking.memory,
            schedules=self.schedules,
            deployments=self.recovery.memory,
        )
