"""One decision: what the rules see, HPA, what the rules hold, and what is remembered."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from autoscaler.errors import TargetError, TargetUnavailable
from autoscaler.hpa import outcome as hpa_outcome
from autoscaler.hpa.controller import Asked, Controller, Goal, Wanted
from autoscaler.hpa.measurement import measure
from autoscaler.hpa.memory import remember, with_pending_write
from autoscaler.hpa.proposals import Measured
from autoscaler.model import (
    HPA,
    NO_MEMORIES,
    TARGET,
    Autoscaler,
    Decision,
    History,
    Memories,
    Observation,
    Outcome,
    Step,
    TargetState,
    Unchanged,
    Written,
)
from autoscaler.rules import Plan, plan_of, rule_named, set_aside, with_rules
from autoscaler.rules.bounds import in_force
from autoscaler.rules.rule import SILENCE, Cycle, Hold

__all__ = ["apply_outcome", "decide", "remember", "with_pending_write"]


def decide(scaler: Autoscaler, observed: Observation, history: History, now: datetime) -> Decision:
    """Return one autoscaler's decision, before the write. Failures become conditions; none is raised."""
    rules, state = _RuleCycle(scaler, observed, history, now), observed.target
    controller = Controller(scaler, history, now)
    rules.follow()
    if not isinstance(state, TargetState):
        return rules.decision(controller, controller.unreadable(state), held=False)
    if rules.measured is not None:
        controller.measured(rules.measured)
    rules.bound(state)
    wanted = controller.reconcile(state, rules)
    grows = (wanted.desired or 0) > (wanted.current or 0)
    holds = rules.holds(out=grows, forced=wanted.forced) if wanted.changes else []
    if holds:
        steps = [Step(source, each.reason, wanted.desired or 0, state.replicas, each.message) for source, each in holds]
        wanted = controller.hold(wanted, steps, "; also: ".join([each.message for _, each in holds]))
    return rules.decision(controller, wanted, held=bool(holds))


def apply_outcome(decision: Decision, outcome: Outcome | None) -> Decision:
    """Return the decision with the outcome of its write, and with what the rules remember of it.

    `outcome` is None if nothing was written.
    """
    change, memories = decision.change, decision.remembered.rules
    arrives = isinstance(outcome, Written | Unchanged | TargetUnavailable)  # the last one still may
    if change is not None and arrives and memories.of:
        size = outcome.size if isinstance(outcome, Written) else change.size
        answered = not isinstance(outcome, TargetError)
        after = Memories(
            {
                name: memory if kind is None else kind.after_write(memory, size, decision.now, answered=answered)
                for name, memory in memories.of.items()
                for kind in (rule_named(name),)
            }
        )
        decision = replace(decision, remembered=replace(decision.remembered, rules=after))
    return hpa_outcome.apply_outcome(decision, outcome)


class _RuleCycle(Cycle, Asked):
    """One cycle of an autoscaler's rules: it asks them, and hands what they say to HPA."""

    __slots__ = ("bounds", "measured", "plan", "rest")

    def __init__(self, scaler: Autoscaler, observed: Observation, history: History, now: datetime) -> None:
        super().__init__(scaler, observed, history, now)
        self.plan: Plan = plan_of(scaler.rules)
        self.measured: Sequence[Measured] | None = None

    def follow(self) -> None:
        """Ask each rule what it says."""
        memories = self.history.rules.of
        for rule in self.plan.follow:
            said = rule.follow(self, memories.get(rule.name))
            if said is not SILENCE:
                self.said[rule.name] = said

    def measure(self) -> Sequence[Measured]:
        """Return what each metric proposes, after the rules. It is measured once."""
        if self.measured is None and self.state is not None:
            self.set_aside = set_aside(self.plan, self.state, self.now)
            found: Sequence[Measured] = measure(self.scaler, self.observed, self.state, self.now, self.set_aside)
            if self.plan.proposed:
                found = [with_rules(self.plan, self.scaler, self.state, each) for each in found]
            for rule in self.plan.outcomes:
                found, said = rule.outcomes(self, found, self.said.get(rule.name, SILENCE))
                if said is not SILENCE:
                    self.said[rule.name] = said
            self.measured = found
        return self.measured or ()

    def bound(self, state: TargetState) -> None:
        """Find the bounds in force, and whether the target needs nothing."""
        self.bounds = in_force(self.scaler, self.said.values(), state)
        self.rest = None
        for each in self.said.values():
            self.rest = self.rest or each.rest

    def goal(self) -> Goal | None:
        """Return the largest size that a rule wants beside the metrics. Only a rule that said something is asked."""
        asked = [rule for rule in self.plan.goal if rule.name in self.said] if self.said else ()
        if not asked:
            return None
        held = self.holds(out=True, forced=False)
        goal: Goal | None = None
        for rule in asked:
            found, self.said[rule.name] = rule.goal(self, self.bounds, self.said[rule.name], held=bool(held))
            if found is not None and (goal is None or found.size > goal.size):
                goal = found
        # what holds no return into the bounds lets the size return to the minimum first
        return goal and goal._replace(over_minimum=not any(each.spares_bounds for _, each in held))

    def zero_waits(self) -> bool:
        """Return whether a zero below the minimum waits for a metric with a value, as that of HPA itself does."""
        state = self.state
        own = self.bounds.minimum.source == HPA and state is not None and not state.limits.minimum
        if not own or any(each.ends_zero for each in self.said.values()):
            return False
        return not any(each.spares_bounds for _, each in self.holds(out=True, forced=False))

    def holds(self, *, out: bool, forced: bool) -> list[tuple[str, Hold]]:
        """Return all that prevents a change, each with its source. The first gives the condition's reason."""
        found = [
            (name, hold)
            for name, said in self.said.items()
            for hold in said.holds
            if hold.prevents(out=out, forced=forced)
        ]
        own = None if self.state is None else self.state.hold.scale_out if out else self.state.hold.scale_in
        if own is not None:
            place = sum([hold.first for _, hold in found])
            found.insert(place, (TARGET, Hold(own.reason, own.message)))
        return found

    def decision(self, controller: Controller, wanted: Wanted, *, held: bool) -> Decision:
        """Return the decision with the events and conditions of the rules, and with what they remember next."""
        plan, known = self.plan, self.history.rules.of
        memories: dict[str, Struct | bytes] = {}
        for name, each in self.said.items():
            controller.events += each.events
            if each.memory is not None:
                memories[name] = each.memory
            kind = plan.conditions.get(name)
            if each.condition is not None and kind is not None:
                controller.conditions.set(kind, *each.condition)
        controller.conditions.forget(plan.others_conditions)
        for name, memory in known.items():
            if isinstance(memory, bytes):
                memories[name] = memory
                text = f"the state has a memory of the rule {name!r}, which is not installed; it is kept and ignored"
                controller.warnings = (*controller.warnings, text)
            elif name not in plan.names:
                rule = rule_named(name)
                controller.events += () if rule is None else rule.ended(memory)
        remembered = Memories(memories) if memories else NO_MEMORIES
        return controller.decision(wanted, remembered, self.state, self.observed.victims, held=held)
