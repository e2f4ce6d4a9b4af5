"""What the daemon remembers of a decision for the next cycle, and for how long.

Ages are differences of wall clock times. After a clock change, the caller moves the history by the same step first
(`autoscaler.model.later`).
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from msgspec.structs import replace

from autoscaler.model import (
    MAX_WINDOW,
    Autoscaler,
    Behavior,
    Decision,
    History,
    HpaMemory,
    Recommendation,
    ScaleEvent,
    ScalingRules,
    pending_after,
    pending_with,
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
        pending=pending_after(history.pending, decision),
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
    return replace(history, hpa=known, pending=pending_with(history.pending, decision))


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
