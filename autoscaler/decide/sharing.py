"""`share`: what the decisions of one cycle may come to together, under their connection's limits.

A limit only ever prevents a change, and as little of it as it must: a scale-in that is too much for the removal budget
takes what is left of it, a scale-out that is too much for `maxTotal` takes the room that there is.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.decide.allotment import Want, allot
from autoscaler.decide.conditions import MESSAGES
from autoscaler.decide.removals import already_counted
from autoscaler.model import (
    CONNECTION_LIMITS,
    Condition,
    ConditionType,
    Decision,
    Event,
    EventType,
    History,
    Intent,
    Reason,
    RemovalBudget,
    ScaleChange,
    ScaleEvent,
    Standing,
    Status,
    Step,
)
from autoscaler.quantity import format_duration

_LIMITED: Final = ConditionType.SCALING_LIMITED


class Shared(NamedTuple):
    """What the limits made of a cycle's decisions."""

    decisions: Sequence[Decision]
    """In their order."""
    removals_left: int | None = None
    """What may still leave after them; None: there is no removal budget."""
    total: int | None = None
    """What all sizes sum to before them; None: there is no limit of it."""


class _Claim(NamedTuple):
    """A decision and what it needs of a limit."""

    decision: Decision
    want: Want
    """From the size up to which nothing needs to be asked for."""


def share(decisions: Sequence[Decision], history: Mapping[str, History], standing: Standing, now: datetime) -> Shared:
    """The decisions as far as the connection's limits allow them. `history`: by the autoscaler's name.

    What a dry run decides takes nothing from the others, and is cut as if it did. A decision that cannot be written,
    since an earlier write to its target is under way, takes nothing either: what that write may come to is counted.
    """
    limits, left, total = standing.limits, None, None
    if limits.removal_budget is not None:
        decisions, left = _within_budget(decisions, history, standing, limits.removal_budget, now)
    if limits.max_total is not None:
        decisions, total = _within_total(decisions, history, standing, limits.max_total)
    if left is not None or total is not None:
        decisions = [_without_old_word(made, history[made.name]) for made in decisions]
    return Shared(decisions, left, total)


def cut_as_recorded(made: Decision, history: History, recorded: Decision) -> Decision:
    """A decision as its connection's limits left it when it was recorded; `made`: not concluded.

    What the others had used of the limits then is not recorded with it. That it was cut, and to what, is: a step of its
    trace says so.
    """
    step = next((each for each in recorded.trace if each.reason in CONNECTION_LIMITS), None)
    if step is not None:
        return _cut(made, history, step.after, Reason(step.reason), step.detail)
    said = _limited(recorded.conditions)
    if said is not None and said.reason in CONNECTION_LIMITS:  # there was no limit any more to say otherwise
        return made
    return _without_old_word(made, history)


def size_of(made: Decision, unfinished: Intent | None) -> int | None:
    """What an autoscaler counts as under `maxTotal`; None: its target could not be read.

    That is its size; or what was asked for and may still arrive; or what its minimum is about to make of it.
    """
    if made.current is None:
        return None
    size = made.current if made.written is None else made.written
    if unfinished is not None:
        size = max(size, *[each.size for each in unfinished.and_earlier])
    if not made.dry_run and made.desired is not None and made.minimum is not None:
        size = max(size, min(made.desired, made.minimum))
    return size


def _within_budget(
    decisions: Sequence[Decision],
    history: Mapping[str, History],
    standing: Standing,
    budget: RemovalBudget,
    now: datetime,
) -> tuple[Sequence[Decision], int]:
    """The decisions, scale-ins cut to what may leave, and what is left then."""
    recent = [one for one in standing.removals if now - one.at < budget.period]
    left = max(0, budget.instances - sum([one.instances for one in recent]))
    counted = {(one.name, one.at): one.instances for one in recent}
    claims = []
    for made in decisions:
        change = _to_write(made, standing)
        if change is not None and change.size < change.decided_from:
            known = history[made.name].unfinished
            before = 0 if known is None else counted.get((made.name, known.at), 0)
            free = already_counted(change.decided_from, known, before)
            claims.append(_Claim(made, Want(made.name, max(change.size, change.decided_from - free), change.size)))
    allowed = _allowed(claims, lambda _: left)
    detail = (
        f"{standing.connection}'s removalBudget is {budget.instances} instances in {format_duration(budget.period)}, "
        f"of which {left} {'was' if left == 1 else 'were'} left"
    )
    if recent:
        detail += f"; more from {(recent[0].at + budget.period).isoformat(timespec='seconds')}"
    used = sum([one.want.size - allowed[one.decision.name] for one in claims if not one.decision.dry_run])
    cut = _cut_all(decisions, history, allowed, Reason.REMOVAL_BUDGET_LIMIT, detail)
    return cut, left - used


def _within_total(
    decisions: Sequence[Decision], history: Mapping[str, History], standing: Standing, limit: int
) -> tuple[Sequence[Decision], int]:
    """The decisions, scale-outs cut to the room there is, and what all sizes sum to before them."""
    sizes = dict(standing.sizes)
    for made in decisions:
        size = size_of(made, history[made.name].unfinished)
        if size is not None:
            sizes[made.name] = size
    total = sum(sizes.values()) + standing.others
    claims = []
    proposed = dict[str, int]()  # what a dry run wants up to its minimum: nobody else pays for it
    for made in decisions:
        change = _to_write(made, standing)
        if change is not None and change.size > change.decided_from:
            counted = sizes[made.name]
            own = counted if made.shadow is None else made.shadow
            base = min(change.size, max(own, made.minimum or 0))
            # a shadow counts in its target's place for itself, and for nobody else
            proposed[made.name] = max(0, base - counted) if made.shadow is None else base - counted
            claims.append(_Claim(made, Want(made.name, base, change.size)))
    allowed = _allowed(claims, lambda some: limit - total - sum([proposed[one.decision.name] for one in some]))
    detail = f"{standing.connection}'s maxTotal is {limit}, of which {total} are in use"
    return _cut_all(decisions, history, allowed, Reason.MAX_TOTAL_LIMIT, detail), total


def _to_write(made: Decision, standing: Standing) -> ScaleChange | None:
    """What it is to write in this cycle, if anything; of a dry run what it proposes."""
    return None if made.target in standing.busy and not made.dry_run else made.change


def _allowed(claims: Sequence[_Claim], units: Callable[[Sequence[_Claim]], int]) -> Mapping[str, int]:
    """The size that each may go to, by the autoscaler's name. `units`: how far some may go together."""
    live = [one for one in claims if not one.decision.dry_run]
    allowed = dict(allot([one.want for one in live], units(live)))
    if len(live) < len(claims):
        all_of_them = allot([one.want for one in claims], units(claims))
        allowed |= {one.decision.name: all_of_them[one.decision.name] for one in claims if one.decision.dry_run}
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
    """The decision with another size to write, or none where that is the present one; and why."""
    change = made.change
    if change is None:
        return made
    present, stays = change.decided_from, size == change.decided_from
    known = _limited(before.conditions)
    kind = EventType.WARNING if reason is Reason.MAX_TOTAL_LIMIT else EventType.NORMAL  # the budget lets go by itself
    event = Event(kind, reason, f"New size: {size} instead of {change.size}; reason: {why}")
    begins = known is None or not known.status or known.reason != reason
    trace = [step for step in made.trace if step.reason != Reason.RESCALE]
    trace.append(Step(reason, change.size, size, why))
    if not stays:
        trace.append(Step(Reason.RESCALE, present, size, change.reason))
    return replace(
        made,
        desired=size,
        change=None if stays else dataclasses.replace(change, size=size),
        conditions=_with_limited(made, known, True, reason, f"{MESSAGES[reason]}: {why}"),
        events=(*made.events, event) if begins else made.events,
        trace=tuple(trace),
        status=Status(made.status.current, size, made.metrics) if stays else made.status,
        scale_event=None if stays or made.scale_event is None else ScaleEvent(abs(size - present), made.now),
        scaled_to_zero=None if stays or made.scaled_to_zero is None else made.scaled_to_zero and size == 0,
    )


def _without_old_word(made: Decision, before: History) -> Decision:
    """A decision that did not come to the limits says so, where none of HPA's own stages has said anything."""
    said = _limited(made.conditions)
    if said is None or said.reason not in CONNECTION_LIMITS or made.desired is None:
        return made
    if any(step.reason == said.reason for step in made.trace):
        return made
    reason = Reason.DESIRED_WITHIN_RANGE
    conditions = _with_limited(made, _limited(before.conditions), False, reason, MESSAGES[reason])
    return replace(made, conditions=conditions)


def _limited(conditions: Sequence[Condition]) -> Condition | None:
    return next((each for each in conditions if each.type is _LIMITED), None)


def _with_limited(
    made: Decision, known: Condition | None, status: bool, reason: Reason, message: str
) -> tuple[Condition, ...]:
    """The decision's conditions with another ScalingLimited, whose status is as old as it was in the last cycle."""
    since = known.last_transition if known is not None and known.status == status else made.now
    limited = Condition(_LIMITED, status, reason, message, since)
    if _limited(made.conditions) is None:
        return (*made.conditions, limited)
    return tuple([limited if each.type is _LIMITED else each for each in made.conditions])
