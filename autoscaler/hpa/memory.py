"""What the daemon remembers of a decision for the next cycle, and for how long.

Ages are differences of wall clock times. After a clock change, the caller moves the history by the same step first
(`autoscaler.model.later`).
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from msgspec.structs import replace

from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    MAX_PERIOD,
    MAX_WINDOW,
    Autoscaler,
    Behavior,
    Decision,
    History,
    HpaMemory,
    Outcome,
    PendingWrite,
    Recommendation,
    ScaleEvent,
    ScalingRules,
    Unchanged,
    Written,
)


def remember(scaler: Autoscaler, history: History, decision: Decision) -> History:
    """Return what the next cycle remembers after a decision with its outcome."""
    behavior = scaler.behavior or Behavior()
    known, new = history.hpa, decision.remembered
    default_window = scaler.options.downscale_stabilization
    return History(
        hpa=HpaMemory(
            recommendations=with_recommendations(known.recommendations, new.recommendations, default_window),
            scale_ups=with_events(known.scale_ups, new.scale_ups, behavior.scale_up),
            scale_downs=with_events(known.scale_downs, new.scale_downs, behavior.scale_down),
            conditions=decision.conditions,
            status=new.status,
        ),
        pending=_pending(history, decision),
        manual=history.manual,
        at=decision.now,
        warnings=history.warnings if decision.current is None else decision.warnings,
        rules=new.rules,
    )


def with_pending_write(scaler: Autoscaler, history: History, decision: Decision) -> History:
    """Return what is committed before the decision's change is written.

    That is the write itself, and the earlier writes that arrived or can still arrive. If the daemon dies before it
    records the decision, only this remains.
    """
    behavior = scaler.behavior or Behavior()
    known, new = history.hpa, decision.remembered
    if new.scale_ups or new.scale_downs:
        known = replace(
            known,
            scale_ups=with_events(known.scale_ups, new.scale_ups, behavior.scale_up),
            scale_downs=with_events(known.scale_downs, new.scale_downs, behavior.scale_down),
        )
    return replace(history, hpa=known, pending=_with_own(history, decision))


def arrived(pending: PendingWrite | None, size: int) -> PendingWrite | None:
    """Return the newest pending write of this size, which the target shows, or None."""
    return next((each for each in (() if pending is None else pending.and_earlier) if each.size == size), None)


def may_arrive(outcome: Outcome | None) -> bool:
    """Return whether a write was sent without an answer, so that it can still arrive at the target."""
    return isinstance(outcome, TargetUnavailable)


def _pending(history: History, decision: Decision) -> PendingWrite | None:
    """Return the write that can still arrive at the target, with those before it.

    A request without an answer (TargetUnavailable, or the daemon died) can arrive cycles later. One that was not sent
    (TargetNotWritten) cannot. The write stays open until the target shows its size, a later write ends with a known
    size, or it is older than every policy's period.
    """
    outcome, pending = decision.outcome, history.pending
    if may_arrive(outcome):
        return _with_own(history, decision)
    if pending is None or isinstance(outcome, Written | Unchanged):
        return None
    if pending.at == decision.now and outcome is not None:  # announced in this cycle and not sent
        pending = pending.earlier
    return _open(pending, decision)


def _with_own(history: History, decision: Decision) -> PendingWrite | None:
    """Return the write that the decision announces, with the earlier writes that can still arrive."""
    change = decision.change
    if change is None:
        return history.pending
    earlier = _without(_open(history.pending, decision), change.size)
    return PendingWrite(change.size, change.decided_from, decision.now, decision.remembered.scaled_to_zero, earlier)


def _open(pending: PendingWrite | None, decision: Decision) -> PendingWrite | None:
    """Return the writes that can still arrive, given the size that the decision observed.

    Back ends apply absolute sizes in order, so a write that arrived supersedes those before it.
    """
    if pending is None or decision.current == pending.size or decision.now - pending.at >= MAX_PERIOD:
        return None
    return replace(pending, earlier=_open(pending.earlier, decision))


def _without(pending: PendingWrite | None, size: int) -> PendingWrite | None:
    """Return the writes of sizes other than `size`."""
    if pending is None:
        return None
    earlier = _without(pending.earlier, size)
    return earlier if pending.size == size else replace(pending, earlier=earlier)


def with_recommendations(
    known: tuple[Recommendation, ...], new: Sequence[Recommendation], default_window: timedelta
) -> tuple[Recommendation, ...]:
    """Add new recommendations, and drop those that can no longer decide any window.

    A window ends now and asks for its highest or lowest recommendation. A recommendation cannot be the highest if a
    later one is at least as high, nor the lowest if a later one is at most as high. So only those above or below
    everything after them are kept.

    Recommendations older than the longest possible window (an hour, or the controller's `default_window` if longer) are
    dropped too. The newest one always stays, because an autoscaler without any starts with the current size.
    """
    if not new:
        return known
    newest = new[-1]
    cutoff = newest.at - max(MAX_WINDOW, default_window)
    lowest = highest = newest.replicas
    kept = [newest]
    for entry in reversed((*known, *new[:-1])):
        replicas = entry.replicas
        if entry.at < cutoff:
            break
        if replicas > highest:
            highest = replicas
        elif replicas < lowest:
            lowest = replicas
        else:
            continue
        kept.append(entry)
    kept.reverse()
    return tuple(kept)


def with_events(
    known: tuple[ScaleEvent, ...], new: Iterable[ScaleEvent], rules: ScalingRules
) -> tuple[ScaleEvent, ...]:
    """Add new scale events of one direction. `rules` are that direction's rules.

    As in the HPA controller, a new event replaces the last outdated event in the list, at its place. An event is
    outdated if it is older than every policy's period. Policies of the other direction no longer count a replaced
    event, so this rule and the list's order affect sizes. The rule also bounds the list.
    """
    for event in new:
        cutoff = event.at - max((policy.period for policy in rules.policies), default=timedelta(0))
        outdated = [index for index, entry in enumerate(known) if entry.at < cutoff]
        place = outdated[-1] if outdated else len(known)
        known = (*known[:place], event, *known[place + 1 :])
    return known
