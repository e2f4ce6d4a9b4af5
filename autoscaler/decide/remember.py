"""From one cycle to the next: what is remembered of a decision, and for how long.

Ages here are differences of wall clock times. Where that clock was set between two cycles, the history that the next
one is given has been moved along with it (`History.moved`).
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from msgspec.structs import replace

from autoscaler.decide.shadow import without_shadow
from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    LONGEST_PERIOD,
    LONGEST_WINDOW,
    Autoscaler,
    Behavior,
    Decision,
    History,
    Intent,
    Outcome,
    Recommendation,
    ScaleEvent,
    ScalingRules,
    Unchanged,
    Written,
)


def remember(scaler: Autoscaler, history: History, decision: Decision) -> History:
    """What the next cycle remembers after a concluded decision about `scaler`."""
    behavior = scaler.behavior or Behavior()
    history = _of_next(history, decision)
    return History(
        recommendations=with_recommendations(
            history.recommendations, decision.recommendations, scaler.options.downscale_stabilization
        ),
        scale_ups=with_events(history.scale_ups, decision.scale_ups, behavior.scale_up),
        scale_downs=with_events(history.scale_downs, decision.scale_downs, behavior.scale_down),
        conditions=decision.conditions,
        status=decision.status,
        unfinished=_unfinished(history, decision),
        steering=history.steering,
        at=decision.now,
        failing=decision.failing,
        brakes=decision.brake_memory,
        shadow=decision.shadow_memory,
    )


def announced(scaler: Autoscaler, history: History, decision: Decision) -> History:
    """What is remembered while the decision's change is written, which is committed before it.

    That is the write, and what the decision found: that an earlier one arrived, or may still arrive. A daemon that dies
    before it records the decision leaves nothing else that tells of it.
    """
    behavior = scaler.behavior or Behavior()
    if decision.scale_ups or decision.scale_downs:
        known = _of_next(history, decision)
        history = replace(
            history,
            scale_ups=with_events(known.scale_ups, decision.scale_ups, behavior.scale_up),
            scale_downs=with_events(known.scale_downs, decision.scale_downs, behavior.scale_down),
        )
    return replace(history, unfinished=_with_own(history, decision))


def _of_next(history: History, decision: Decision) -> History:
    """What the next cycle begins with: where the shadow has ended, what was its own is forgotten."""
    return without_shadow(history) if decision.shadow_memory is None else history


def may_arrive(outcome: Outcome | None) -> bool:
    """Whether a write had no answer and was sent: the request may still arrive at the target."""
    return isinstance(outcome, TargetUnavailable)


def _unfinished(history: History, decision: Decision) -> Intent | None:
    """The write that may still arrive at the target, if there is one, with those before it that may.

    A request without an answer (TargetUnavailable, or the daemon died) may arrive cycles later; one that was certainly
    not done (TargetNotWritten) cannot. It is open until the target shows its size, a later write of ours ends with a
    known size, or so long that no policy's period would count it.
    """
    outcome, intent = decision.outcome, history.unfinished
    if may_arrive(outcome):
        return _with_own(history, decision)
    if intent is None or isinstance(outcome, Written | Unchanged):
        return None
    if intent.at == decision.now and outcome is not None:  # announced in this cycle, and certainly not written
        intent = intent.earlier
    return _open(intent, decision)


def _with_own(history: History, decision: Decision) -> Intent | None:
    """The write that the decision announces, on top of those that may still arrive."""
    change = decision.change
    if change is None:
        return history.unfinished
    earlier = _without(_open(history.unfinished, decision), change.size)
    return Intent(change.size, change.decided_from, decision.now, decision.scaled_to_zero, earlier)


def _open(intent: Intent | None, decision: Decision) -> Intent | None:
    """What of it, and of those before it, may still arrive after what the decision saw.

    Back ends carry out one absolute size after the other: what was announced before one that arrived has been replaced.
    """
    if intent is None or decision.current == intent.size or decision.now - intent.at >= LONGEST_PERIOD:
        return None
    return replace(intent, earlier=_open(intent.earlier, decision))


def _without(intent: Intent | None, size: int) -> Intent | None:
    """Those of another size than this."""
    if intent is None:
        return None
    earlier = _without(intent.earlier, size)
    return earlier if intent.size == size else replace(intent, earlier=earlier)


def with_recommendations(
    known: tuple[Recommendation, ...], new: Sequence[Recommendation], default_window: timedelta
) -> tuple[Recommendation, ...]:
    """The recommendations with new ones at the end, without those that no window can be decided by any more.

    A window reaches from some time up to now and asks for its highest or its lowest recommendation. One that a later
    one equals or exceeds is never the highest that counts; one that a later one equals or undercuts is never the
    lowest. So what stays is what is higher, or lower, than everything after it: a handful, where a load swings for an
    hour, and one where it is constant (with the time of the last).

    What is older than every window that can be configured leaves, too: an hour, or the controller's own
    `default_window` where that is longer. The newest always stays, as an autoscaler without any takes the size it
    finds for its first.
    """
    if not new:
        return known
    newest = new[-1]
    cutoff = newest.at - max(LONGEST_WINDOW, default_window)
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
    """The scale events of one direction with new ones; `rules` are that direction's.

    As in the HPA controller a new event replaces the last in the list that is older than every policy's period, in
    its place. A policy of the other direction with a longer period no longer counts what was replaced, so both this
    rule and the list's order decide sizes. It bounds the list as well: it only grows while all of it is younger than
    the longest period.
    """
    for event in new:
        cutoff = event.at - max((policy.period for policy in rules.policies), default=timedelta(0))
        outdated = [index for index, entry in enumerate(known) if entry.at < cutoff]
        place = outdated[-1] if outdated else len(known)
        known = (*known[:place], event, *known[place + 1 :])
    return known
