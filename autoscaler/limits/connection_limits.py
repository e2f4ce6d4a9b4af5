"""Applies a connection's limits to the decisions of one cycle.

A limit only prevents changes, and no more of a change than necessary. A scale-in takes what is left of the removal
budget. A scale-out takes the room that is left under `maxTotal`.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.hpa.conditions import MESSAGES
from autoscaler.limits.allocation import SizeRequest, allocate
from autoscaler.limits.removals import already_counted
from autoscaler.model import (
    CONNECTION_LIMITS,
    HPA,
    LIMITS,
    Condition,
    ConditionType,
    Decision,
    Direction,
    Event,
    EventType,
    History,
    LimitUsage,
    PendingWrite,
    Reason,
    RemovalBudget,
    ScaleChange,
    ScaleEvent,
    Status,
    Step,
)
from autoscaler.quantity import format_duration
from autoscaler.text import count

_LIMITED: Final = ConditionType.SCALING_LIMITED


class LimitedDecisions(NamedTuple):
    """The decisions of a cycle after the limits."""

    decisions: Sequence[Decision]
    """In the order given."""
    removals_left: int | None = None
    """Instances that may still be removed afterwards; None without a removal budget."""
    total: int | None = None
    """Sum of all sizes beforehand; None without `maxTotal`."""


class _LimitedChange(NamedTuple):
    """A decision and what it asks of a limit."""

    decision: Decision
    request: SizeRequest
    """The size starts where the limit starts to count."""


def apply_limits(
    decisions: Sequence[Decision], history: Mapping[str, History], standing: LimitUsage, now: datetime
) -> LimitedDecisions:
    """Return the decisions as far as the connection's limits allow. `history` is by autoscaler name.

    A dry run's decision uses none of the limits, and is limited as if it did. A decision that cannot be written because
    an earlier write to its target is running uses none either; the running write is counted.
    """
    limits, left, total = standing.limits, None, None
    if limits.removal_budget is not None:
        decisions, left = _within_budget(decisions, history, standing, limits.removal_budget, now)
    if limits.max_total is not None:
        decisions, total = _within_total(decisions, history, standing, limits.max_total)
    if left is not None or total is not None:
        decisions = [_without_past_limit(made, history[made.name]) for made in decisions]
    return LimitedDecisions(decisions, left, total)


def limit_as_recorded(made: Decision, history: History, recorded: Decision) -> Decision:
    """Apply the limits to a decision as they applied when it was recorded. `made` is not concluded.

    The usage of the other autoscalers is not recorded. A step of the recorded trace has the limited size.
    """
    step = next((each for each in recorded.trace if each.reason in CONNECTION_LIMITS), None)
    if step is not None:
        return _cut(made, history, step.after, Reason(step.reason), step.detail)
    said = _limited(recorded.conditions)
    if said is not None and said.reason in CONNECTION_LIMITS:  # the limit was removed from the configuration
        return made
    return _without_past_limit(made, history)


def counted_size(made: Decision, pending: PendingWrite | None) -> int | None:
    """Return the size that counts under `maxTotal`, or None if the target could not be read.

    That is the largest of the current size, the sizes of writes that can still arrive, and the minimum about to be set.
    """
    if made.current is None:
        return None
    size = made.current if made.written is None else made.written
    if pending is not None:
        size = max(size, *[each.size for each in pending.and_earlier])
    if not made.dry_run and made.desired is not None and made.minimum is not None:
        size = max(size, min(made.desired, made.minimum))
    return size


def _within_budget(
    decisions: Sequence[Decision],
    history: Mapping[str, History],
    standing: LimitUsage,
    budget: RemovalBudget,
    now: datetime,
) -> tuple[Sequence[Decision], int]:
    """Return the decisions with scale-ins reduced to the budget, and what is left of the budget."""
    recent = [one for one in standing.removals if now - one.at < budget.period]
    left = max(0, budget.instances - sum([one.instances for one in recent]))
    counted = {(one.name, one.at): one.instances for one in recent}
    changes = []
    for made in decisions:
        change = _to_write(made, standing)
        if change is not None and change.direction is Direction.IN:
            known, free = history[made.name].pending, 0
            if known is not None:
                free = already_counted(change.decided_from, known, counted.get((made.name, known.at), 0))
            changes.append(
                _LimitedChange(made, SizeRequest(made.name, max(change.size, change.decided_from - free), change.size))
            )
    allowed = _allowed(changes, lambda _: left)
    limit = f"{count(budget.instances, 'instance')} in {format_duration(budget.period)}"
    detail = f"{standing.connection}'s removalBudget is {limit}, of which {left} {'was' if left == 1 else 'were'} left"
    if recent:
        detail += f"; more from {(recent[0].at + budget.period).isoformat(timespec='seconds')}"
    used = sum([one.request.size - allowed[one.decision.name] for one in changes if not one.decision.dry_run])
    cut = _cut_all(decisions, history, allowed, Reason.REMOVAL_BUDGET_LIMIT, detail)
    return cut, left - used


def _within_total(
    decisions: Sequence[Decision], history: Mapping[str, History], standing: LimitUsage, limit: int
) -> tuple[Sequence[Decision], int]:
    """Return the decisions with scale-outs reduced to the room left, and the sum of all sizes beforehand."""
    sizes = dict(standing.sizes)
    for made in decisions:
        size = counted_size(made, history[made.name].pending)
        if size is not None:
            sizes[made.name] = size
    total = sum(sizes.values()) + standing.others
    changes = []
    proposed = dict[str, int]()  # what a dry run needs to reach its minimum, which no other autoscaler pays for
    for made in decisions:
        change = _to_write(made, standing)
        if change is not None and change.direction is Direction.OUT:
            counted = sizes[made.name]
            base = min(change.size, max(counted, made.minimum or 0))
            proposed[made.name] = max(0, base - counted)
            changes.append(_LimitedChange(made, SizeRequest(made.name, base, change.size)))
    allowed = _allowed(changes, lambda some: limit - total - sum([proposed[one.decision.name] for one in some]))
    detail = f"{standing.connection}'s maxTotal is {limit}, of which {total} are in use"
    return _cut_all(decisions, history, allowed, Reason.MAX_TOTAL_LIMIT, detail), total


def _to_write(made: Decision, standing: LimitUsage) -> ScaleChange | None:
    """Return the change to write in this cycle, or a dry run's proposal; None if there is none."""
    return None if made.target in standing.busy and not made.dry_run else made.change


def _allowed(changes: Sequence[_LimitedChange], units: Callable[[Sequence[_LimitedChange]], int]) -> Mapping[str, int]:
    """Return the size granted to each autoscaler, by name. `units` returns how far some may change together."""
    live = [one for one in changes if not one.decision.dry_run]
    allowed = dict(allocate([one.request for one in live], units(live)))
    if len(live) < len(changes):
        all_of_them = allocate([one.request for one in changes], units(changes))
        allowed |= {one.decision.name: all_of_them[one.decision.name] for one in changes if one.decision.dry_run}
    return allowed


def _cut_all(
    decisions: Sequence[Decision], history: Mapping[str, History], allowed: Mapping[str, int], reason: Reason, why: str
) -> Sequence[Decision]:
    return [
        _cut(made, history[made.name], allowed[made.name], reason, why)
        if made.change is not None and allowed.get(made.name, made.change.size) != made.change.size
        else made
        for made in decisions
    ]


def _cut(made: Decision, before: History, size: int, reason: Reason, why: str) -> Decision:
    """Return the decision with the size `size`, or without a change if that is the current size, and the reason."""
    change = made.change
    if change is None:
        return made
    present, stays, kept = change.decided_from, size == change.decided_from, made.remembered
    known = _limited(before.hpa.conditions)
    kind = EventType.WARNING if reason is Reason.MAX_TOTAL_LIMIT else EventType.NORMAL  # the budget frees itself
    event = Event(kind, reason, f"New size: {size} instead of {change.size}; reason: {why}")
    begins = known is None or not known.status or known.reason != reason
    trace = [step for step in made.trace if step.reason != Reason.RESCALE]
    trace.append(Step(LIMITS, reason, change.size, size, why))
    if not stays:
        trace.append(Step(HPA, Reason.RESCALE, present, size, change.reason))
    return replace(
        made,
        desired=size,
        change=None if stays else dataclasses.replace(change, size=size),
        conditions=_with_limited(made, known, True, reason, f"{MESSAGES[reason]}: {why}"),
        events=(*made.events, event) if begins else made.events,
        trace=tuple(trace),
        remembered=replace(
            kept,
            status=Status(kept.status.current, size, made.metrics) if stays else kept.status,
            scale_event=None if stays or kept.scale_event is None else ScaleEvent(abs(size - present), made.now),
            scaled_to_zero=None if stays or kept.scaled_to_zero is None else kept.scaled_to_zero and size == 0,
        ),
    )


def _without_past_limit(made: Decision, before: History) -> Decision:
    """Clear a limit's ScalingLimited from an earlier cycle if the limit did not apply to this decision."""
    said = _limited(made.conditions)
    if said is None or said.reason not in CONNECTION_LIMITS or made.desired is None:
        return made
    if any(step.reason == said.reason for step in made.trace):
        return made
    reason = Reason.DESIRED_WITHIN_RANGE
    conditions = _with_limited(made, _limited(before.hpa.conditions), False, reason, MESSAGES[reason])
    return replace(made, conditions=conditions)


def _limited(conditions: Sequence[Condition]) -> Condition | None:
    return next((each for each in conditions if each.type == _LIMITED), None)


def _with_limited(
    made: Decision, known: Condition | None, status: bool, reason: Reason, message: str
) -> tuple[Condition, ...]:
    """Return the decision's conditions with this ScalingLimited. An unchanged status keeps its transition time."""
    since = known.last_transition if known is not None and known.status == status else made.now
    limited = Condition(_LIMITED, status, reason, message, since)
    if _limited(made.conditions) is None:
        return (*made.conditions, limited)
    return tuple([limited if each.type == _LIMITED else each for each in made.conditions])
